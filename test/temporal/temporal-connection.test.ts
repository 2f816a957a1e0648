import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type ServerHttp2Session } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NativeConnection } from '@temporalio/worker';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { budgetView } from '../../src/budget/client.ts';
import { grpcFailure } from '../../src/cli/explain-failure.ts';
import {
  connectClient,
  connectOptions,
  failoverFor,
  TemporalSettingsInvalid,
  TemporalUnreachable,
  temporalProxy,
} from '../../src/temporal/connection.ts';
import { startWorker } from '../../src/worker.ts';
import { certificate } from '../service/certificate.ts';
import { holdingProxy } from '../tools/proxies/holding-proxy.ts';
import { setScene } from '../tools/scene.ts';
import { useDevServer, workflowBundle } from '../tools/temporal/temporal.ts';
import { testLog } from '../tools/temporal/test-log.ts';

const defaults = {
  address: 'localhost:7233',
  namespace: 'default',
  taskQueue: 'docferry',
  profile: null,
  given: { address: false, namespace: false },
};

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'docferry-profiles-'));
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true });
  });
  for (const name of Object.keys(process.env).filter((known) => known.startsWith('TEMPORAL_')))
    vi.stubEnv(name, undefined);
  vi.stubEnv('TEMPORAL_CONFIG_FILE', join(folder, 'temporal.toml'));
});

const profiles = (text: string) => writeFile(join(folder, 'temporal.toml'), text);

describe("Temporal's own variables and profiles", () => {
  it('are not needed', () => {
    expect(connectOptions(defaults)).toMatchObject({
      connection: { address: 'localhost:7233', tls: undefined, apiKey: undefined },
      namespace: 'default',
    });
  });

  it('give address and namespace that docferry.yaml does not name', () => {
    vi.stubEnv('TEMPORAL_ADDRESS', 'temporal.example:7233');
    vi.stubEnv('TEMPORAL_NAMESPACE', 'docs');
    expect(connectOptions(defaults)).toMatchObject({
      connection: { address: 'temporal.example:7233' },
      namespace: 'docs',
    });
    const given = { ...defaults, address: 'mine:1', namespace: 'own', given: { address: true, namespace: true } };
    expect(connectOptions(given)).toMatchObject({ connection: { address: 'mine:1' }, namespace: 'own' });
  });

  it('decide how soon dead workers are replaced, unless docferry.yaml does', () => {
    expect(failoverFor(defaults)).toBe('fast');
    expect(failoverFor({ ...defaults, failover: 'tolerant' })).toBe('tolerant');
    vi.stubEnv('TEMPORAL_ADDRESS', 'temporal.example:7233');
    expect(failoverFor(defaults)).toBe('tolerant');
    expect(failoverFor({ ...defaults, failover: 'fast' })).toBe('fast');
    expect(failoverFor({ ...defaults, address: '127.0.0.1:7233', given: { address: true, namespace: false } })).toBe(
      'fast',
    );
    expect(failoverFor({ ...defaults, address: '127.0.0.1:1', embedded: true })).toBe('fast');
  });

  it('give an API key, which turns TLS on', () => {
    vi.stubEnv('TEMPORAL_API_KEY', 'a-key');
    expect(connectOptions(defaults).connection).toMatchObject({ apiKey: 'a-key', tls: true });
  });

  it('turn TLS on and off', () => {
    vi.stubEnv('TEMPORAL_TLS', 'true');
    expect(connectOptions(defaults).connection.tls).toBeTypeOf('object');
    vi.stubEnv('TEMPORAL_TLS', 'false');
    expect(connectOptions(defaults).connection.tls).toBe(false);
  });

  it('give a server authority and a client certificate from files', async () => {
    const place = (name: string) => join(folder, name);
    await writeFile(place('cert.pem'), certificate.cert);
    await writeFile(place('key.pem'), certificate.key);
    vi.stubEnv('TEMPORAL_TLS_SERVER_CA_CERT_PATH', place('cert.pem'));
    vi.stubEnv('TEMPORAL_TLS_CLIENT_CERT_PATH', place('cert.pem'));
    vi.stubEnv('TEMPORAL_TLS_CLIENT_KEY_PATH', place('key.pem'));
    vi.stubEnv('TEMPORAL_TLS_SERVER_NAME', 'temporal.internal');
    const { tls } = connectOptions(defaults).connection;
    if (typeof tls !== 'object' || tls === null) throw new Error('there is no TLS');
    const text = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString();
    expect(tls.serverNameOverride).toBe('temporal.internal');
    expect(text(tls.serverRootCACertificate)).toBe(certificate.cert);
    expect(text(tls.clientCertPair?.crt)).toBe(certificate.cert);
    expect(text(tls.clientCertPair?.key)).toBe(certificate.key);
  });

  it('come from the profile that docferry.yaml or TEMPORAL_PROFILE names', async () => {
    await profiles(`[profile.default]
address = "one:7233"
[profile.cloud]
address = "two:7233"
namespace = "docs.acct"
api_key = "profile-key"
`);
    expect(connectOptions(defaults).connection.address).toBe('one:7233');
    const cloud = { connection: { address: 'two:7233', apiKey: 'profile-key', tls: true }, namespace: 'docs.acct' };
    expect(connectOptions({ ...defaults, profile: 'cloud' })).toMatchObject(cloud);
    vi.stubEnv('TEMPORAL_PROFILE', 'cloud');
    expect(connectOptions(defaults)).toMatchObject(cloud);
  });

  it('do not concern the server that `docferry up` runs', () => {
    vi.stubEnv('TEMPORAL_ADDRESS', 'temporal.example:7233');
    vi.stubEnv('TEMPORAL_API_KEY', 'a-key');
    expect(connectOptions({ ...defaults, embedded: true })).toEqual({
      connection: { address: 'localhost:7233' },
      namespace: 'default',
    });
  });
});

describe('settings that cannot be used', () => {
  const complaint = (settings = defaults) => {
    try {
      return JSON.stringify(connectOptions(settings));
    } catch (error) {
      if (error instanceof TemporalSettingsInvalid) return error.message;
      throw error;
    }
  };

  it('are named, without the lines around the mistake: a key may stand there', async () => {
    await profiles('[profile.default]\napi_key = "planted-key"\naddress = one:7233\n');
    expect(complaint()).toBe(
      "Temporal's own settings cannot be used: the configuration file is not valid TOML (line 3)",
    );
  });

  it('name the profile or file that is missing', () => {
    vi.stubEnv('TEMPORAL_PROFILE', 'nowhere');
    expect(complaint()).toContain('there is no profile nowhere');
    vi.stubEnv('TEMPORAL_PROFILE', undefined);
    vi.stubEnv('TEMPORAL_TLS_CLIENT_CERT_PATH', join(folder, 'none.pem'));
    expect(complaint()).toMatch(/none\.pem cannot be read \(ENOENT\)/);
  });
});

/** A server that answers every call with this status of gRPC. */
async function answering(status: number, message: string): Promise<string> {
  const server = createServer();
  server.on('stream', (stream) => {
    const headers = { 'content-type': 'application/grpc', 'grpc-status': `${status}`, 'grpc-message': message };
    stream.respond(headers, { endStream: true });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const sessions: ServerHttp2Session[] = [];
  server.on('session', (session) => sessions.push(session));
  onTestFinished(async () => {
    for (const session of sessions) session.destroy();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  });
  const address = server.address();
  return `127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`;
}

describe('a server', () => {
  const given = { address: true, namespace: true };

  it.each([16, 7])('that refuses the API key (gRPC %i) is not taken for one that is away', async (status) => {
    const address = await answering(status, 'no such key');
    const error = await connectClient({ ...defaults, address, given }).catch((thrown: unknown) => thrown);
    if (!(error instanceof Error)) throw new Error('connected');
    expect(grpcFailure(error)).toMatchObject({
      code: 'TemporalRefused',
      message: 'Temporal refused the connection: no such key',
      exitCode: 3,
    });
  });

  it('that is away is unreachable', async () => {
    await expect(connectClient({ ...defaults, address: '127.0.0.1:9', given })).rejects.toThrow(TemporalUnreachable);
  });
});

describe('a proxy by the variables in lower case', () => {
  it('leads commands and workers to Temporal, with the password it wants', async () => {
    const asked: string[] = [];
    const { address } = useDevServer();
    const proxy = createHttpServer().on('connect', ({ url, headers }, socket, head) => {
      asked.push(`${url} ${Buffer.from(`${headers['proxy-authorization']}`.slice(6), 'base64')}`);
      const upstream = connect(Number(address.split(':')[1]), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        upstream.write(head);
        socket.pipe(upstream).pipe(socket);
      });
      socket.on('error', () => upstream.destroy());
      upstream.on('error', () => socket.destroy());
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    onTestFinished(() => void proxy.close());
    const { port } = proxy.address() as AddressInfo;
    vi.stubEnv('https_proxy', `http://user:pass%20word@127.0.0.1:${port}`);
    vi.stubEnv('no_proxy', undefined);
    const settings = {
      ...defaults,
      address: 'temporal.nowhere.example:7233',
      given: { address: true, namespace: true },
    };
    const client = await connectClient(settings);
    onTestFinished(() => client.connection.close());
    const connection = await NativeConnection.connect({
      ...connectOptions(settings).connection,
      proxy: temporalProxy(settings.address, process.env) ?? { type: 'http-connect', targetHost: 'none:1' },
    });
    onTestFinished(() => connection.close());
    expect(asked.length).toBeGreaterThanOrEqual(2);
    expect(new Set(asked)).toEqual(new Set(['temporal.nowhere.example:7233 user:pass word']));
  });
});

describe('a key and a certificate that change', () => {
  /** Makes `<name>.pem` and its `<name>.key`, signed by `ca`. */
  const certify = (name: string, ...more: string[]) => {
    const place = (file: string) => join(folder, file);
    const signed = name === 'ca' ? [] : ['-CA', place('ca.pem'), '-CAkey', place('ca.key')];
    const kind = [
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '2',
      ...signed,
      ...more,
    ];
    const files = ['-keyout', place(`${name}.key`), '-out', place(`${name}.pem`)];
    execFileSync('openssl', ['req', '-x509', '-subj', `/CN=${name}`, ...kind, ...files], { stdio: 'ignore' });
  };

  it('are taken over by a worker and a client that run, one file after the other', async () => {
    const scene = await setScene({});
    onTestFinished(() => scene.end());
    const leaf = ['-addext', 'basicConstraints=critical,CA:FALSE'];
    certify('ca');
    certify('server', ...leaf, '-addext', 'subjectAltName=IP:127.0.0.1');
    certify('one', ...leaf);
    certify('two', ...leaf);
    let known = ['Bearer first one'];
    const served = new Set<string>();
    const read = (name: string) => readFile(join(folder, name));
    const tls = {
      cert: await read('server.pem'),
      key: await read('server.key'),
      ca: await read('ca.pem'),
      requestCert: true,
    };
    const proxy = await holdingProxy(
      useDevServer().address,
      (method, { authorization }, { certified, refuse }) => {
        const who = `${authorization} ${certified}`;
        if (!known.includes(who)) refuse();
        else served.add(`${method} by ${who}`);
        return !known.includes(who);
      },
      tls,
    );
    onTestFinished(() => proxy.stop());

    const own = (name: string) => join(folder, `own.${name}`);
    const present = async (name: string, apiKey: string) => {
      await profiles(`[profile.default]\napi_key = "${apiKey}"\n`);
      await writeFile(own('pem'), await read(`${name}.pem`));
      await writeFile(own('key'), await read(`${name}.key`));
    };
    await present('one', 'first');
    vi.stubEnv('TEMPORAL_TLS_SERVER_CA_CERT_PATH', join(folder, 'ca.pem'));
    vi.stubEnv('TEMPORAL_TLS_CLIENT_CERT_PATH', own('pem'));
    vi.stubEnv('TEMPORAL_TLS_CLIENT_KEY_PATH', own('key'));
    const temporal = { ...scene.config.temporal, address: proxy.address };
    const client = await connectClient(temporal);
    onTestFinished(() => client.connection.close());
    const worker = await startWorker({ ...scene.config, temporal }, { log: testLog, workflowBundle: workflowBundle() });
    onTestFinished(() => worker.stop());
    const answered = () =>
      budgetView(client, scene.org).then(
        () => true,
        (error: Error) => error.message,
      );
    await expect.poll(answered).toBe(true);

    known = [...known, 'Bearer second two'];
    await present('two', 'second');
    await expect.poll(() => [...served]).toContain('PollWorkflowTaskQueue by Bearer second two');
    await expect.poll(async () => (await answered()) && [...served]).toContain('QueryWorkflow by Bearer second two');
    known = ['Bearer second two'];
    served.clear();
    for (let nth = 0; nth < 3; nth += 1) expect(await answered()).toBe(true);
    expect(worker.state()).toBe('RUNNING');
    expect([...served]).toContain('RespondQueryTaskCompleted by Bearer second two');
  });
});
