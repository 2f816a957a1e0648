import { type Noticed, type NoticeRow, sentAlone } from '../../runs/rules/notices.ts';
import { bringsVersion, matching } from './queries.ts';
import type { Db, Trx } from './tables.ts';

/** A condition that began or ended, as a step has noticed it. */
export interface NoticeTurn extends Omit<Noticed, 'again'> {
  org: string;
  at: Date;
}

/** Opens or closes a notice; a turn that is recorded already changes nothing. */
export async function turnNotice(db: Trx, turn: NoticeTurn): Promise<void> {
  const { org, type, subject, state, at, until = null, mark = null, reason, facts = {}, silent = false } = turn;
  const key = { org_id: org, type, subject };
  const open = state === 'begun' ? 1 : 0;
  const changed = { open, changed_at: at.toISOString(), ...(silent && { told: open }) };
  if (open === 0) {
    await db
      .updateTable('notices')
      .set({ ...changed, ...(reason !== undefined && { reason }) })
      .where(matching({ ...key, open: 1 }))
      // An end that comes late, as of a run that was terminated, is not that of another occurrence, which began since.
      .where(({ eb, or }) => or([eb('mark', 'is', null), eb('since', '<=', changed.changed_at)]))
      .execute();
    return;
  }
  const text = { reason: reason ?? null, facts: JSON.stringify(facts) };
  const opened = { ...changed, ...text, since: at.toISOString(), until, mark };
  await db
    .insertInto('notices')
    .values({ told: 0, told_at: null, ...key, ...opened })
    .onConflict((conflict) =>
      conflict
        .columns(['org_id', 'type', 'subject'])
        // Another version waits: that is news, though nobody was told yet that none waits any more.
        .doUpdateSet(sentAlone.has(type) ? { told: 0, ...opened } : opened)
        // What is open may be of a run that was reset or deleted.
        .where(({ eb, or, ref }) => or([eb('notices.open', '=', 0), eb('notices.mark', '!=', ref('excluded.mark'))])),
    )
    .execute();
}

/** What holds, and what has ended without people knowing; ordered by type and subject. */
export async function noticeRows(db: Db, org: string): Promise<NoticeRow[]> {
  const rows = await db
    .selectFrom('notices')
    .selectAll()
    .where('org_id', '=', org)
    .where(({ eb, or }) => or([eb('open', '=', 1), eb('told', '=', 1)]))
    .orderBy('type')
    .orderBy('subject')
    .execute();
  return rows.map(({ type, subject, since, until, mark, reason, ...row }) => ({
    ...{ type, subject, since, until, mark, reason },
    open: row.open === 1,
    told: row.told === 1,
    facts: JSON.parse(row.facts),
    changedAt: row.changed_at,
    toldAt: row.told_at,
  }));
}

/** People know these rows as they are here, since `toldAt`; what has changed since is still to be told. */
export async function markTold(db: Trx, org: string, rows: readonly NoticeRow[]): Promise<void> {
  for (const { type, subject, open, changedAt, toldAt } of rows) {
    await db
      .updateTable('notices')
      .set({ told: open ? 1 : 0, told_at: toldAt })
      .where(matching({ org_id: org, type, subject, changed_at: changedAt }))
      .execute();
  }
}

/** By domain, when the last export ended that brought or confirmed a version. */
export async function lastExports(db: Db, org: string): Promise<ReadonlyMap<string, string>> {
  const rows = await db
    .selectFrom('export_runs')
    .select(({ fn }) => ['domain', fn.max('finished_at').as('finished_at')])
    .where('org_id', '=', org)
    .where(bringsVersion)
    .groupBy('domain')
    .execute();
  return new Map(rows.map(({ domain, finished_at }) => [domain, finished_at]));
}
