import { sql } from 'kysely';
import type { ChangedEntry, EntryFilter, EntryRange, WeekFigures } from '../../runs/rules/webhook-event.ts';
import { isHashed } from '../privacy/apply-privacy.ts';
import { batchesOf, documentOf, isWholeExport, matching, replacing } from './queries.ts';
import type { Db, Trx } from './tables.ts';

/**
 * Numbers the changes of these entries. The caller has locked the project, so that changes become visible in order. Numbers
 * are never below the clock's microseconds, so that a restored store does not give the same ones again.
 */
export async function noteChanges(db: Trx, project: string, ids: readonly string[], at: Date): Promise<void> {
  if (ids.length === 0) return;
  let next = Math.max((await newestChange(db, project)) + 1, at.getTime() * 1_000);
  for (const batch of batchesOf([...new Set(ids)])) {
    const rows = batch.map((id, place) => ({ project_id: project, id, change: next + place }));
    next += rows.length;
    await db
      .insertInto('feedback_positions')
      .values(rows)
      .onConflict((conflict) => conflict.columns(['project_id', 'id']).doUpdateSet(replacing(['change'])))
      .execute();
  }
}

/** The newest change of a project; 0 for none. */
export async function newestChange(db: Db, project: string): Promise<number> {
  const row = await db
    .selectFrom('feedback_positions')
    .select('change')
    .where('project_id', '=', project)
    .orderBy('change', 'desc')
    .limit(1)
    .executeTakeFirst();
  return Number(row?.change ?? 0);
}

/** The changed entries of a range as they are now, in order; one that changed again lies beyond the range. */
export async function changedEntries(
  db: Db,
  { org, project, after, upTo }: EntryRange,
  { projects, sources, statuses, helpful, withWords }: EntryFilter,
  most: number,
): Promise<ChangedEntry[]> {
  if (projects !== undefined && !projects.includes(project)) return [];
  let query = db
    .selectFrom('feedback_positions as p')
    .innerJoin('feedback as f', (join) => join.onRef('f.project_id', '=', 'p.project_id').onRef('f.id', '=', 'p.id'))
    .selectAll('f')
    .select('p.change')
    .where('p.project_id', '=', project)
    .where('p.change', '>', after)
    .where('p.change', '<=', upTo)
    .where('f.org_id', '=', org);
  if (sources !== undefined) query = query.where('f.source', 'in', sources);
  if (statuses !== undefined) query = query.where('f.status', 'in', statuses);
  if (helpful !== undefined) query = query.where('f.helpful', '=', Number(helpful));
  if (withWords === true) query = query.where('f.comment', 'is not', null).where('f.comment', '<>', '');
  const rows = await query.orderBy('p.change').limit(most).execute();
  return rows.map((row) => ({
    id: row.id,
    change: Number(row.change),
    path: row.path,
    comment: row.comment,
    createdAt: row.created_at,
    source: row.source,
    status: row.status,
    helpful: row.helpful === null ? null : row.helpful === 1,
    code: row.code,
    filename: row.filename,
    lang: row.lang,
    deletedAt: row.deleted_at,
  }));
}

/** How far a webhook has come with a project or its digests; null before its first message. */
export async function webhookPosition(db: Db, org: string, webhook: string, about: string): Promise<number | null> {
  const row = await db
    .selectFrom('webhook_positions')
    .select('position')
    .where(matching({ org_id: org, webhook, about }))
    .executeTakeFirst();
  return row === undefined ? null : Number(row.position);
}

/** Only ever forward: an older attempt may come after a newer one. */
export async function moveWebhookPosition(
  db: Trx,
  org: string,
  webhook: string,
  about: string,
  position: number,
): Promise<void> {
  await db
    .insertInto('webhook_positions')
    .values({ org_id: org, webhook, about, position })
    .onConflict((conflict) =>
      conflict
        .columns(['org_id', 'webhook', 'about'])
        .doUpdateSet({ position })
        .where('webhook_positions.position', '<', position),
    )
    .execute();
}

const mostNamed = 3;

/** How long after its creation an entry may come and still be news: a first reading brings a project's whole past. */
const latestNewsMs = 7 * 86_400_000;

/** Between two moments, ISO 8601. */
export async function weekFigures(db: Db, org: string, from: string, to: string): Promise<WeekFigures> {
  const notBefore = new Date(Date.parse(from) - latestNewsMs).toISOString();
  const come = db
    .selectFrom('feedback')
    .where('org_id', '=', org)
    .where('first_seen_at', '>=', from)
    .where('first_seen_at', '<', to)
    .where(({ eb, or }) => or([eb('created_at_utc', 'is', null), eb('created_at_utc', '>=', notBefore)]))
    .where('deleted_at', 'is', null);
  const spoken = come
    .where(sql<boolean>`trim(comment) <> ''`)
    .where((where) => where.eb.not(isHashed(where, 'comment')));
  const { count } = await spoken.select(({ fn }) => fn.countAll().as('count')).executeTakeFirstOrThrow();
  const newest = await spoken
    .select(['project_id', 'path', 'comment'])
    .orderBy(({ fn }) => fn.coalesce('created_at_utc', 'first_seen_at'), 'desc')
    .orderBy('id')
    .limit(mostNamed)
    .execute();
  const document = documentOf(db);
  const worst = await come
    .where('helpful', '=', 0)
    .select(({ fn }) => ['project_id', document.as('document'), fn.countAll().as('count')])
    .groupBy(['project_id', document])
    .orderBy(sql`count(*)`, 'desc')
    .orderBy('document')
    .limit(mostNamed)
    .execute();
  const released = await db
    .selectFrom('export_runs')
    .select(({ fn }) => ['domain', fn.countAll().as('count'), fn.max('version').as('latest')])
    .where('org_id', '=', org)
    .where('outcome', '=', 'published')
    .where(isWholeExport)
    .where('finished_at', '>=', from)
    .where('finished_at', '<', to)
    .groupBy('domain')
    .orderBy('domain')
    .execute();
  return {
    comments: {
      count: Number(count),
      newest: newest.map(({ project_id, path, comment }) => ({ project: project_id, path, comment: comment ?? '' })),
    },
    worstPages: worst.map((row) => ({ project: row.project_id, path: row.document, notHelpful: Number(row.count) })),
    released: released.map((row) => ({ domain: row.domain, versions: Number(row.count), latest: row.latest })),
  };
}
