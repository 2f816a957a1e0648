import type { Sandbox } from '../../../sandbox/index.ts';
import type { Kept, Tables } from './kept.ts';

type Served = { id?: unknown; status?: unknown } | null;

/** Every entry of the service is in the store once, with its present status, and no entry that is gone (S1, S4). */
export async function entriesKept(
  { truth }: Pick<Sandbox, 'truth'>,
  tables: Tables,
  projects: readonly string[],
): Promise<Kept> {
  const held = await byProject(tables.rows('select project_id, id, status from feedback where deleted_at is null'));
  const rejected = await byProject(tables.rows('select project_id, id from feedback_rejects'));
  let [entries, lost, changed, gone] = [0, 0, 0, 0];
  for (const project of projects) {
    const served = [...truth(project)] as Served[];
    const distinct = new Set(served.map((entry) => (typeof entry?.id === 'string' ? entry.id : JSON.stringify(entry))));
    const rows = new Map((held.get(project) ?? []).map((row) => [row.id, row]));
    entries += distinct.size;
    lost += Math.abs(distinct.size - rows.size - (rejected.get(project) ?? []).length);
    gone += [...rows.keys()].filter((id) => !distinct.has(String(id))).length;
    for (const entry of served) {
      const row = rows.get(entry?.id);
      if (row !== undefined && row.status !== entry?.status) changed += 1;
    }
  }
  return {
    promise: 'S1, S4',
    looked: `${entries} entries of ${projects.length} projects`,
    found: `${lost} lost or doubled, ${changed} with an old status, ${gone} that are gone`,
    ok: lost === 0 && changed === 0 && gone === 0,
  };
}

/**
 * The changes of an entry lead from the status it was first seen with to the one it has (S5), in whatever order their
 * times say: each status is left as often as it is reached, but for the first and the last.
 */
export async function changesKept(tables: Tables): Promise<Kept> {
  const held = await tables.rows('select project_id, id, status from feedback');
  const changes = await tables.rows(`select project_id, id, old, new from feedback_changes where field = 'status'`);
  const balances = new Map<string, Map<string, number>>();
  for (const { project_id, id, old, new: next } of changes) {
    const key = `${project_id} ${id}`;
    const balance = balances.get(key) ?? new Map<string, number>();
    balances.set(key, balance);
    balance.set(String(old), (balance.get(String(old)) ?? 0) - 1);
    balance.set(String(next), (balance.get(String(next)) ?? 0) + 1);
  }
  const broken = held.filter(({ project_id, id, status }) => {
    const uneven = [...(balances.get(`${project_id} ${id}`) ?? [])].filter(([, count]) => count !== 0);
    const [arrival] = uneven.filter(([, count]) => count === 1);
    return uneven.length !== 0 && !(uneven.length === 2 && arrival?.[0] === status);
  });
  return {
    promise: 'S5',
    looked: `${changes.length} changes of status of ${balances.size} entries`,
    found: `${broken.length} entries whose changes do not lead to their status`,
    ok: broken.length === 0 && changes.length > 0,
  };
}

async function byProject(rows: Promise<Record<string, unknown>[]>): Promise<Map<unknown, Record<string, unknown>[]>> {
  const groups = new Map<unknown, Record<string, unknown>[]>();
  for (const row of await rows) {
    const group = groups.get(row.project_id);
    if (group === undefined) groups.set(row.project_id, [row]);
    else group.push(row);
  }
  return groups;
}
