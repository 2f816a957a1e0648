import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { configText, docferry, emptyFolder } from '../../tools/cli/run-docferry.ts';

/** Runs the command and counts the modules of the S3 client that it loaded. */
async function modulesOfS3Client(args: readonly string[], bundles: string): Promise<number> {
  const cwd = await emptyFolder();
  await writeFile(join(cwd, 'docferry.yaml'), `${configText({})}store: { bundles: ${bundles} }\n`);
  const hook = join(cwd, 'count.cjs');
  const count = `Object.keys(require.cache).filter((file) => file.includes('@aws-sdk')).length`;
  await writeFile(hook, `process.on('exit', () => process.stderr.write('loaded ' + ${count} + '\\n'));\n`);
  const { stderr } = await docferry(args, {
    cwd,
    ownProcess: true,
    env: { NODE_OPTIONS: `--require ${hook}`, AWS_REGION: 'x' },
  });
  return Number(/loaded (\d+)/.exec(stderr)?.[1]);
}

it('only a configuration with a bucket loads the S3 client', async () => {
  const bucket = '{ s3: { bucket: docs, endpoint: "http://127.0.0.1:9" } }';
  const versions = ['export', 'versions', 'docs.acme.example'];
  expect(await modulesOfS3Client(['--help'], bucket)).toBe(0);
  expect(await modulesOfS3Client(['config', 'check'], bucket)).toBe(0);
  expect(await modulesOfS3Client(versions, '{ directory: ./bundles }')).toBe(0);
  expect(await modulesOfS3Client(versions, bucket)).toBeGreaterThan(5);
});
