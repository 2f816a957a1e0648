import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { moveFeedback } from '../../../../src/feedback/store/move-feedback.ts';
import { openSqliteFeedbackStore } from '../../../../src/feedback/store/sqlite-store.ts';
import { docferry, docferryJson, folderWithConfig } from '../../../tools/cli/run-docferry.ts';
import { entry, heldBytes, wholePass } from '../../../tools/feedback/temporary-store.ts';
import { createDatabase, hasPostgres } from '../../../tools/servers/postgres-database.ts';

const nowhere = 'postgres://docferry@127.0.0.1:1/docferry';

describe('feedback move', () => {
  it('is refused without a store, without a yes and with an address of something else', async () => {
    const cwd = await folderWithConfig();
    expect((await docferryJson(['feedback', 'move', '--to', nowhere, '--yes'], { cwd })).exitCode).toBe(4);
    await (await openSqliteFeedbackStore(join(cwd, 'data/feedback.db'))).close();
    for (const flags of [
      ['--to', nowhere],
      ['--to', 'sqlite:x.db', '--yes'],
      ['--to', 'postgres://', '--yes'],
    ]) {
      expect((await docferry(['feedback', 'move', ...flags], { cwd })).exitCode, flags.join(' ')).toBe(2);
    }
    const unreachable = await docferryJson(['feedback', 'move', '--to', nowhere, '--yes'], { cwd });
    expect(unreachable).toMatchObject({ exitCode: 1, document: { error: { code: 'StoreUnavailable' } } });
    await appendFile(join(cwd, 'docferry.yaml'), `store: { feedback: "${nowhere}" }\n`);
    expect((await docferry(['feedback', 'move', '--to', nowhere, '--yes'], { cwd })).exitCode).toBe(2);
  });

  it.skipIf(!hasPostgres())('moves everything, with the password by reference and shown nowhere', async () => {
    const cwd = await folderWithConfig();
    const store = await openSqliteFeedbackStore(join(cwd, 'data/feedback.db'));
    await wholePass(store, 'p', [entry('1'), entry('2')]);
    await store.close();
    const database = await createDatabase();
    onTestFinished(() => database[Symbol.asyncDispose]());
    const { host, port } = database.place;
    const to = `postgres://${database.user}:\${PG_PASSWORD}@${host}:${port}/${database.name}`;
    const env = { PG_PASSWORD: database.password };
    const { exitCode, document, stderr } = await docferryJson(['feedback', 'move', '--to', to, '--yes'], { cwd, env });
    expect({ exitCode, document }).toMatchObject({ exitCode: 0, document: { to: database.place.place } });
    expect(document.tables).toContainEqual({
      table: 'feedback',
      rows: 2,
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(JSON.stringify(document) + stderr).not.toContain('planted');
    expect(await database.rows('select id from feedback order by id')).toEqual([{ id: '1' }, { id: '2' }]);
    const again = await docferryJson(['feedback', 'move', '--to', to, '--yes'], { cwd, env });
    expect(again).toMatchObject({
      exitCode: 1,
      document: { error: { message: expect.stringContaining('not empty') } },
    });
  });

  it.skipIf(!hasPostgres())('holds a few megabytes at a time, however long the comments are', async () => {
    const cwd = await folderWithConfig();
    const store = await openSqliteFeedbackStore(join(cwd, 'data/feedback.db'));
    // Few words: indexing them would take most of the time.
    const comment = 'word '.repeat(2_000) + '.'.repeat(390_000);
    for (let slice = 0; slice < 10; slice += 1) {
      const entries = Array.from({ length: 60 }, (_, n) => ({ ...entry(`${slice}-${n}`), comment }));
      await wholePass(store, `p${slice}`, entries);
    }
    await store.close();
    const database = await createDatabase();
    onTestFinished(() => database[Symbol.asyncDispose]());
    const before = heldBytes();
    let most = before;
    const timer = setInterval(() => {
      most = Math.max(most, heldBytes());
    }, 200);
    const moved = await moveFeedback(join(cwd, 'data/feedback.db'), database.place).finally(() => clearInterval(timer));
    expect(moved).toContainEqual(expect.objectContaining({ table: 'feedback', rows: 600 }));
    // All rows together are 240 MB.
    expect(most - before).toBeLessThan(64 * 1024 ** 2);
  });
});
