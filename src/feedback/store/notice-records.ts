import type { Kysely, Transaction } from 'kysely';
import type { NoticeType } from '../../runs/rules/notices.ts';
import type { FeedbackDatabase } from './tables.ts';

/** A condition that began or ended, as a step has noticed it. */
export interface NoticeTurn {
  org: string;
  type: NoticeType;
  subject: string;
  /** True: it holds from now on; false: it has ended. */
  open: boolean;
  /** Id of the step that noticed it: the same in every attempt of that step, different for every other step. */
  by: string;
  at: Date;
  /** Until when a person can act; null without an end. */
  until?: string | null;
  /** Distinguishes two occurrences, such as the settings of a receiver; null for nothing. */
  mark?: string | null;
}

/** A condition that holds and for which a notice was sent. */
interface OpenNotice {
  type: NoticeType;
  subject: string;
  since: string;
  until: string | null;
  mark: string | null;
}

type Db = Kysely<FeedbackDatabase>;

/**
 * Opens or closes a notice by compare and set. Returns since when it holds or held; null when another turn had changed it
 * already, so that no notice is due. A repeat of the turn that changed it gets the same answer.
 */
export async function turnNotice(
  db: Transaction<FeedbackDatabase>,
  { org, type, subject, open, by, at, until = null, mark = null }: NoticeTurn,
): Promise<{ since: string } | null> {
  const key = { org_id: org, type, subject };
  const changed = { changed_by: by, changed_at: at.toISOString() };
  if (open) {
    const opened = { ...changed, open: 1, since: at.toISOString(), until, mark };
    await db
      .insertInto('notices')
      .values({ ...key, ...opened })
      .onConflict((conflict) =>
        conflict.columns(['org_id', 'type', 'subject']).doUpdateSet(opened).where('notices.open', '=', 0),
      )
      .execute();
  } else {
    await db
      .updateTable('notices')
      .set({ ...changed, open: 0 })
      .where('org_id', '=', org)
      .where('type', '=', type)
      .where('subject', '=', subject)
      .where('open', '=', 1)
      .execute();
  }
  const row = await db
    .selectFrom('notices')
    .select(['since'])
    .where('org_id', '=', org)
    .where('type', '=', type)
    .where('subject', '=', subject)
    .where('open', '=', open ? 1 : 0)
    .where('changed_by', '=', by)
    .executeTakeFirst();
  return row ?? null;
}

/** All conditions that hold, ordered by type and subject. */
export async function openNotices(db: Db, org: string): Promise<OpenNotice[]> {
  return await db
    .selectFrom('notices')
    .select(['type', 'subject', 'since', 'until', 'mark'])
    .where('org_id', '=', org)
    .where('open', '=', 1)
    .orderBy('type')
    .orderBy('subject')
    .execute();
}

/**
 * When each site's last export that brought or confirmed a version ended, by domain; an export whose rollout failed counts,
 * since it brought its version too.
 */
export async function lastExports(db: Db, org: string): Promise<ReadonlyMap<string, string>> {
  const rows = await db
    .selectFrom('export_runs')
    .select(({ fn }) => ['domain', fn.max('finished_at').as('finished_at')])
    .where('org_id', '=', org)
    .where('outcome', 'in', ['published', 'unchanged', 'rollout-failed'])
    // A rollback has no job, and brings nothing new.
    .where('job_id', 'is not', null)
    .groupBy('domain')
    .execute();
  return new Map(rows.map(({ domain, finished_at }) => [domain, finished_at]));
}
