import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { resolveBinary } from '../../../src/local/binaries.ts';
import { findFreePort } from '../../../src/local/ports.ts';
import { runCommand, TemporalBinaryMissing, timeLimit } from '../../../src/local/run-command.ts';
import { s3TestServerTool } from './s3-server-tool.ts';

/** A real S3 server; its objects are files of this machine. */
export interface S3Server {
  endpoint: string;
  bucket: string;
  accessKeyId: string;
  secretAccessKey: string;
  /** Client with the rights of the owner, for what tests look at or spoil. */
  client: S3Client;
  /** Makes a user who may not use the bucket. */
  addStranger(accessKeyId: string, secretAccessKey: string): Promise<void>;
  /** Where an object's content lies. */
  fileOf(key: string): string;
  stop(): Promise<void>;
}

/** The variables by which the AWS client of another process finds the server's owner. */
export const awsVariables = ({ accessKeyId, secretAccessKey }: S3Server) => ({
  AWS_ACCESS_KEY_ID: accessKeyId,
  AWS_SECRET_ACCESS_KEY: secretAccessKey,
  AWS_EC2_METADATA_DISABLED: 'true',
});

const bucket = 'docs-bundles';
const owner = { accessKeyId: 'AKIATESTOWNER0001', secretAccessKey: 'planted-secret-of-the-owner-4f1c9d' };

/** The program, or null with a word on stderr when this machine cannot have it: then the tests of S3 are skipped. */
export async function s3ServerProgram(): Promise<string | null> {
  try {
    const onProgress = (line: string) => process.stderr.write(`${line}\n`);
    return (await resolveBinary(s3TestServerTool, { onProgress })).path;
  } catch (error) {
    if (!(error instanceof TemporalBinaryMissing)) throw error;
    process.stderr.write(`tests of the S3 store are SKIPPED: ${error.message}\n${error.hint}\n`);
    return null;
  }
}

/** Starts a server with one bucket, and gives this process its owner's credentials as AWS's variables. */
export async function startS3Server(program: string): Promise<S3Server> {
  const folder = await mkdtemp(join(tmpdir(), 'docferry-s3-'));
  const [data, sidecar, users] = [join(folder, 'data'), join(folder, 'sidecar'), join(folder, 'users')];
  for (const path of [data, sidecar, users]) await mkdir(path);
  const port = await findFreePort();
  const endpoint = `http://127.0.0.1:${port}`;
  const env = {
    PATH: process.env.PATH,
    ROOT_ACCESS_KEY: owner.accessKeyId,
    ROOT_SECRET_KEY: owner.secretAccessKey,
  };
  const args = ['--port', `127.0.0.1:${port}`, '--health', '/health', '--quiet', '--iam-dir', users];
  const server = spawn(program, [...args, 'posix', '--sidecar', sidecar, data], { env, stdio: 'ignore' });
  // Should the run be cut short, the server must not stay.
  const killAtExit = () => server.kill('SIGKILL');
  process.once('exit', killAtExit);
  await untilHealthy(`${endpoint}/health`, server);
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';
  const client = new S3Client({ endpoint, forcePathStyle: true, region: 'us-east-1', credentials: owner });
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
  process.env.AWS_ACCESS_KEY_ID = owner.accessKeyId;
  process.env.AWS_SECRET_ACCESS_KEY = owner.secretAccessKey;
  // No profile of the machine, and no waiting for a cloud's metadata.
  process.env.AWS_EC2_METADATA_DISABLED = 'true';
  const admin = ['admin', '--access', owner.accessKeyId, '--secret', owner.secretAccessKey, '--endpoint-url', endpoint];
  return {
    endpoint,
    bucket,
    ...owner,
    client,
    async addStranger(access, secret) {
      const who = ['create-user', '--access', access, '--secret', secret, '--role', 'user'];
      await runCommand(program, [...admin, ...who], { env, signal: timeLimit(30_000) });
    },
    fileOf: (key) => join(data, bucket, key),
    async stop() {
      client.destroy();
      process.off('exit', killAtExit);
      if (server.exitCode === null && server.kill()) await once(server, 'exit');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function untilHealthy(url: string, server: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 400; tries += 1) {
    if (server.exitCode !== null) throw new Error(`the S3 server ended with ${server.exitCode}`);
    const healthy = await fetch(url).then(
      (response) => response.ok,
      () => false,
    );
    if (healthy) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('the S3 server does not answer');
}
