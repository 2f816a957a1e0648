import { appendFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FeedbackStore } from '../../src/feedback/store/feedback-store.ts';
import { docferryJson, folderWithConfig } from '../tools/cli/run-docferry.ts';
import { DocferryProcess } from '../tools/docferry-process.ts';
import {
  begin,
  entry,
  finished,
  page,
  temporaryPostgresStore,
  temporarySqliteStore,
} from '../tools/feedback/temporary-store.ts';
import { bytesIn } from '../tools/file-bytes.ts';
import { hasPostgres } from '../tools/servers/postgres-database.ts';

/**
 * An erasure whose process is killed -9 has removed the person everywhere or nowhere, and the audit says which
 * (docs/privacy.md).
 */

const contact = 'jane@planted.example';
const preload = resolve('test/chaos/kill-at-statement.mjs');

const stores = {
  SQLite: async () => {
    const db = await temporarySqliteStore();
    return { ...db, config: `sqlite:${db.file}`, bytes: () => bytesIn(db.folder) };
  },
  PostgreSQL: async () => {
    const db = await temporaryPostgresStore();
    return { ...db, config: db.database.url, bytes: () => '' };
  },
};

/** What she wrote in two projects, what names her, a change of it, and an entry that could not be read. */
async function sync(store: FeedbackStore): Promise<void> {
  for (const passId of ['prj_1', 'prj_2', 'prj_1 again']) {
    const status = passId === 'prj_1' ? `asked ${contact}` : 'done';
    const entries = [
      entry('1', { contact, comment: `PLANTED ${passId}`, status }),
      entry('2', { comment: `ask ${contact}`, contact: 'bob@kept.example' }),
    ];
    const rejected = [{ id: 'r', raw: JSON.stringify({ id: 'r', contact }), reason: 'path is missing' }];
    await begin(store, passId, { project: passId.slice(0, 5) });
    await store.upsertPage(page(passId, entries, { rejected }));
    await store.finishPass(passId, finished);
  }
}

describe.each(['SQLite', 'PostgreSQL'] as const)('an erasure in %s', (kind) => {
  it.skipIf(kind === 'PostgreSQL' && !hasPostgres())('is whole or has not begun, wherever it is killed', async () => {
    const deaths = { before: 0, after: 0 };
    for (let killAt = 1, isKilled = true; isKilled; killAt += 1) {
      await using db = await stores[kind]();
      await sync(db.store);
      const cwd = await folderWithConfig();
      await appendFile(join(cwd, 'docferry.yaml'), `store: { feedback: "${db.config}" }\n`);
      const args = ['feedback', 'erase', '--contact', contact, '--yes'];
      const left = async () => {
        const tables = ['feedback', 'feedback_changes', 'feedback_rejects', 'erasures', 'audit'] as const;
        const rows = await Promise.all(tables.map((table) => db.rows(`select * from ${table}`)));
        const [entries, changes, rejects, erasures, audit] = rows.map((of) => JSON.stringify(of));
        const naming = [entries, changes, rejects].map((text) => /PLANTED|jane@/.test(text ?? ''));
        return { naming, erasures: rows[3]?.length, audit: rows[4]?.length, told: `${erasures}${audit}` };
      };
      const env = { NODE_OPTIONS: `--import ${preload}`, KILL_AT: `${killAt}` };
      const killed = new DocferryProcess(args, { cwd, env });
      const exitCode = await killed.ended();
      isKilled = killed.child.signalCode === 'SIGKILL';
      const after = await left();
      const isWhole = after.erasures === 1;
      const [whole, none] = [Array(3).fill(false), Array(3).fill(true)];
      expect(after).toMatchObject(isWhole ? { naming: whole, audit: 1 } : { naming: none, erasures: 0, audit: 0 });
      expect(after.told).not.toContain('jane');
      if (isKilled) deaths[isWhole ? 'after' : 'before'] += 1;
      else expect(exitCode, killed.output).toBe(0);
      // The operator, whose command died, asks again.
      const again = await docferryJson(args, { cwd });
      expect(again).toMatchObject({ exitCode: 0, document: { scrubbed: true } });
      expect(await left()).toMatchObject({ naming: whole });
      expect(db.bytes()).not.toMatch(/PLANTED|jane@/);
    }
    process.stderr.write(`  ${kind}: killed at ${deaths.before} steps before the commit, ${deaths.after} after it\n`);
    expect(deaths.before).toBeGreaterThan(10);
    expect(deaths.after).toBeGreaterThan(0);
  });
});
