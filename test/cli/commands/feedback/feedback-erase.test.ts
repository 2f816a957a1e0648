import { spawn } from 'node:child_process';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openSqliteFeedbackStore } from '../../../../src/feedback/store/sqlite-store.ts';
import { Database } from '../../../../src/sqlite.ts';
import { docferry, docferryJson, folderWithConfig } from '../../../tools/cli/run-docferry.ts';
import { begin, entry, finished, page } from '../../../tools/feedback/temporary-store.ts';
import { bytesIn } from '../../../tools/file-bytes.ts';

const contact = 'jane@planted.example';

async function scene(privacy = ''): Promise<string> {
  const cwd = await folderWithConfig({
    organizations: '  - { id: acme, apiKey: k, projects: [{ id: prj_1 }, { id: prj_2 }] }\n',
  });
  if (privacy !== '') await appendFile(join(cwd, 'docferry.yaml'), `privacy: ${privacy}\n`);
  const store = await openSqliteFeedbackStore(join(cwd, 'data/feedback.db'));
  for (const project of ['prj_1', 'prj_2', 'prj_gone']) {
    const entries = [entry('1', { contact, comment: 'PLANTED' }), entry('2', { contact: 'bob@kept.example' })];
    await begin(store, project, { project });
    const rejected = [{ id: 'r', raw: JSON.stringify({ id: 'r', contact }), reason: 'path is missing' }];
    await store.upsertPage(page(project, entries, { rejected }));
    await store.finishPass(project, finished);
  }
  await store.close();
  return cwd;
}

describe('feedback erase', () => {
  it('removes a person from the whole store, also from projects no longer configured, and repeats no address', async () => {
    const cwd = await scene();
    const { exitCode, stderr, stdout, document } = await docferryJson(
      ['feedback', 'erase', '--contact', contact.toUpperCase(), '--yes'],
      { cwd },
    );
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(document).toEqual({
      contact: expect.stringMatching(/^hmac-sha256:/),
      entries: 3,
      changes: 0,
      rejects: 3,
      projects: ['prj_1', 'prj_2', 'prj_gone'].map((project) => ({ project, entries: 1, changes: 0, rejects: 1 })),
      scrubbed: true,
    });
    expect(stdout.toLowerCase()).not.toContain('jane');
    for (const text of ['PLANTED', contact]) expect(bytesIn(join(cwd, 'data'))).not.toContain(text);
    expect(bytesIn(join(cwd, 'data'))).toContain('bob@kept.example');
    const again = await docferry(['feedback', 'erase', '--contact', contact, '--yes'], { cwd });
    expect(again).toMatchObject({ exitCode: 0, stderr: '' });
    expect(again.stdout).toMatch(
      /^nothing in the store names this person; kept out of every later sync as hmac-sha256:/,
    );
  });

  it('of one project leaves the others alone, and reads the address from stdin', async () => {
    const cwd = await scene();
    const child = spawn(
      process.execPath,
      [
        join(import.meta.dirname, '../../../../dist/src/starter.js'),
        'feedback',
        'erase',
        'acme/prj_2',
        '--contact',
        '-',
        '--yes',
        '--json',
      ],
      { cwd, stdio: ['pipe', 'pipe', 'inherit'] },
    );
    child.stdin.end(`${contact}\n`);
    let stdout = '';
    for await (const piece of child.stdout) stdout += piece;
    expect(JSON.parse(stdout)).toMatchObject({ entries: 1, rejects: 1, projects: [{ project: 'prj_2' }] });
    const database = new Database(join(cwd, 'data/feedback.db'), { readOnly: true });
    const select = database.prepare<{ project: string }>(
      'select project_id as project from feedback where contact = ? order by 1',
    );
    const held = select.all(contact).map(({ project }) => project);
    database.close();
    expect(held).toEqual(['prj_1', 'prj_gone']);
  });

  it.each([
    [['feedback', 'erase'], 2, /--contact/],
    [['feedback', 'erase', '--contact', ' '], 2, /--contact is empty/],
    [['feedback', 'erase', '--contact', `${contact}\nbob@kept.example`], 2, /several lines/],
    [['feedback', 'erase', 'prj_9', '--contact', contact], 4, /prj_9 is not a project/],
    [['feedback', 'erase', '--contact', contact], 2, /needs --yes/],
  ])('refuses %j, erases nothing and repeats no address', async (args, code, message) => {
    const cwd = await scene();
    const { exitCode, document, stderr } = await docferryJson(args, { cwd });
    expect(exitCode).toBe(code);
    expect(document).toMatchObject({ error: { message: expect.stringMatching(message) } });
    expect(`${JSON.stringify(document)}${stderr}`).not.toContain(contact);
    expect(bytesIn(join(cwd, 'data'))).toContain(contact);
  });

  it('needs the key where contacts are hashed, and finds them by it', async () => {
    const cwd = await scene(`{ contacts: hash, hashKey: "\${HASH_KEY}" }`);
    const args = ['feedback', 'erase', '--contact', contact, '--yes'];
    const without = await docferryJson(args, { cwd });
    expect(without).toMatchObject({ exitCode: 2, document: { error: { code: 'InvalidConfiguration' } } });
    const env = { HASH_KEY: 'hunter2-hunter2-hunter2-hunter2-' };
    expect(await docferryJson(args, { cwd, env })).toMatchObject({ exitCode: 0, document: { entries: 3 } });
  });
});

describe('the privacy settings', () => {
  it('are shown by config check, and by doctor if the store does not meet them yet', async () => {
    const cwd = await scene('{ contacts: drop, retention: 400d }');
    const { document } = await docferryJson(['config', 'check'], { cwd });
    expect(document).toMatchObject({
      privacy: { contacts: 'drop', comments: 'keep', hashKey: null, keepFields: [], retentionMs: 34_560_000_000 },
    });
    const { stdout } = await docferry(['config', 'check'], { cwd });
    expect(stdout).toMatch(/personal data +contacts drop, comments keep, deleted after 400 days/);
    const doctor = await docferryJson(['doctor'], { cwd });
    const checks = doctor.document.checks as { name: string }[];
    expect(checks.find(({ name }) => name === 'feedback-store')).toMatchObject({
      ok: true,
      level: 'warning',
      detail: expect.stringContaining('6 entries and 3 rejects contain personal data that the privacy settings forbid'),
    });
  });
});
