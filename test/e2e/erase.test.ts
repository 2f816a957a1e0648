import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { PassKind } from '../../src/feedback/rules/sync.ts';
import { startSync } from '../../src/operations/syncs.ts';
import { docferryJson } from '../tools/cli/run-docferry.ts';
import { bytesIn } from '../tools/file-bytes.ts';
import { type Scene, setScene } from '../tools/scene.ts';
import { histories } from '../tools/temporal/histories.ts';

let scene: Scene;
afterEach(async () => {
  await scene?.end();
});

async function sync(pass: PassKind) {
  const { client, taskQueue, org, project } = scene;
  return await (await startSync(client, taskQueue, { org, project, pass })).result();
}

interface Contextual {
  id: string;
  contact: string;
}

/** Two entries of one person, one of another who names them, and one of the person that cannot be understood. */
function plantPerson(address: string): { ids: string[]; comment: string } {
  const { sandbox, project } = scene;
  const isContextual = (entry: unknown): entry is Contextual =>
    typeof entry === 'object' && entry !== null && 'contact' in entry && typeof entry.contact === 'string';
  const [first, second, third, fourth] = [...sandbox.truth(project)].filter(isContextual).map(({ id }) => id);
  if (!first || !second || !third || !fourth) throw new Error('the sandbox has no contacts');
  const comment = 'WORDS OF THE PERSON';
  sandbox.changeEntries(project, [
    { id: first, fields: { contact: address, comment } },
    { id: second, fields: { contact: address.toUpperCase(), comment: null } },
    { id: third, fields: { comment: `Ask ${address}.` } },
    { id: fourth, fields: { contact: address, comment: { text: comment } } },
  ]);
  return { ids: [first, second, third], comment };
}

describe('a person who asks to be erased', () => {
  it.each([
    ['kept', '{}', 3],
    ['hashed', '{ contacts: hash, comments: hash, hashKey: "hunter2-hunter2-hunter2-hunter2-" }', 2],
  ])(
    'is in no file after erase, and in none after the next sweep, where contacts are %s',
    async (_, privacy, entries) => {
      scene = await setScene({ sandbox: { entries: 600, jobSeconds: 1 }, privacy });
      const address = 'jane.doe@erased.example';
      const { ids, comment } = plantPerson(address);
      await scene.startWorker();
      const first = await sync('sweep');
      expect(first.entries).toMatchObject({ seen: 600, inserted: 599, rejected: 1 });
      const data = join(scene.folder, 'data');
      if (privacy === '{}') expect(bytesIn(data)).toContain(address);

      const args = ['feedback', 'erase', '--contact', address, '--yes', '--config', scene.configFile];
      const erased = await docferryJson(args);
      expect(erased.exitCode).toBe(0);
      // What was reduced before names nobody any more.
      expect(erased.document).toMatchObject({ entries, rejects: privacy === '{}' ? 1 : 0, scrubbed: true });
      const hasPerson = () =>
        [address, address.toUpperCase(), comment, 'erased.example'].filter((text) => bytesIn(data).includes(text));
      expect(hasPerson()).toEqual([]);

      // A hashed comment cannot be looked into: it goes when it is sent again.
      expect((await sync('sweep')).entries).toMatchObject({ inserted: 0, updated: 3 - entries });
      for (const pass of ['sweep', 'review', 'incremental'] as const) {
        expect((await sync(pass)).entries).toMatchObject({ inserted: 0, updated: 0 });
      }
      expect(hasPerson()).toEqual([]);
      expect(`${await histories(scene)}${scene.logged()}`).not.toContain('erased.example');

      // A change of another field is followed, without bringing the person back.
      scene.sandbox.changeEntries(
        scene.project,
        ids.map((id) => ({ id, status: 'resolved' })),
      );
      await sync('sweep');
      expect(hasPerson()).toEqual([]);
      const status = await docferryJson(['feedback', 'status', '--config', scene.configFile]);
      expect(status.document).toMatchObject({
        privacy: { contacts: privacy === '{}' ? 'keep' : 'hash', retentionMs: null },
        projects: [{ entries: 599, rejects: 1, personalSince: expect.stringMatching(/^20/) }],
      });
    },
  );
});
