import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { docferryJson, folderWithConfig } from '../../tools/cli/run-docferry.ts';

const client = (name: string, token: string) => `{ name: ${name}, token: "${token}", org: acme }`;

async function gateway(clients: readonly string[], ...args: string[]) {
  const cwd = await folderWithConfig();
  await appendFile(join(cwd, 'docferry.yaml'), `gateway: { clients: [${clients.join(', ')}] }\n`);
  const { exitCode, document } = await docferryJson(['gateway', ...args], { cwd });
  return { exitCode, error: document.error };
}

describe('gateway', () => {
  it('says what is wrong before it listens (exit codes 2 and 3)', async () => {
    expect(await gateway([])).toMatchObject({ exitCode: 2, error: { message: expect.stringContaining('no clients') } });
    const same = [client('a', 'same-token-0123456789'), client('b', 'same-token-0123456789')];
    expect(await gateway(same)).toMatchObject({
      exitCode: 2,
      error: { message: 'the clients a and b have the same token' },
    });
    const one = [client('a', 'some-token-0123456789')];
    expect(await gateway(one, '--max-wait', 'long')).toMatchObject({
      exitCode: 2,
      error: { message: expect.stringContaining('--max-wait') },
    });
    expect(await gateway(one)).toMatchObject({ exitCode: 3 });
  });
});
