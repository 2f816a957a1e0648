import { expect, it } from 'vitest';
import { runCommand } from '../../src/local/run-command.ts';

it('a program that builds or downloads is given no key, only what it needs', async () => {
  const kept = {
    PATH: process.env.PATH,
    HOME: '/home/jane',
    https_proxy: 'http://proxy.example:3128',
    NO_PROXY: 'internal.example',
    NODE_EXTRA_CA_CERTS: '/dev/null',
    SSL_CERT_FILE: '/etc/ssl/own.pem',
    GOPROXY: 'https://modules.example',
    GOBIN: '/tmp/bin',
    TMPDIR: '/tmp',
  };
  const secret = { ACME_API_KEY: 'dk_admin_1', TEMPORAL_API_KEY: 'k', GOOGLE_API_KEY: 'g', AWS_SECRET_ACCESS_KEY: 'a' };
  const show = 'console.log(JSON.stringify(process.env))';
  const lines = await runCommand(process.execPath, ['-e', show], { env: { ...kept, ...secret } });
  expect(JSON.parse(lines.at(-1) ?? '')).toEqual(kept);
});
