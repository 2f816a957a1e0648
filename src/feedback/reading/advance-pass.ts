import type { Transaction } from 'kysely';
import { afterCut, ended, type SliceStep } from '../rules/continue-slice.ts';
import { decide } from '../rules/decision.ts';
import { nextStep } from '../rules/next-step.ts';
import { sliceFindings } from '../rules/slice-findings.ts';
import { lockProject } from '../store/project-lock.ts';
import { storedText } from '../store/stored-text.ts';
import type { FeedbackDatabase } from '../store/tables.ts';
import { passFacts } from './pass-facts.ts';
import type { PassRow } from './pass-store.ts';
import { completePass } from './passes.ts';
import { noteCoarseDates } from './service-traits.ts';
import { addSlices, appendPlanned, currentSlice, dropPlanned, writeSlice } from './slices.ts';
import { tombstone } from './tombstones.ts';
import { noteVerified } from './verified-dates.ts';

type Db = Transaction<FeedbackDatabase>;

/**
 * Writes where a slice stands; after one that was read to its end, what it shows of the entries, then what the pass does
 * next, which depends on that (decisions/0041).
 */
export async function takeStep(db: Db, pass: PassRow, step: SliceStep, at: Date): Promise<void> {
  await writeStep(db, pass, step);
  const { slice, unshifted } = step;
  if (slice.outcome !== 'read') return;
  const { passId, org, project } = pass;
  const facts = passFacts(db, pass);
  const { gone, verified } = await decide(sliceFindings(pass, slice, unshifted), facts);
  if (gone !== null) await tombstone(db, pass, gone, at);
  if (verified !== null) await noteVerified(db, org, project, verified);
  const next = await decide(nextStep(pass, slice), facts);
  if (next.coarseDates !== null) await noteCoarseDates(db, org, project, next.coarseDates);
  if (next.dropped.length > 0) await dropPlanned(db, passId, next.dropped);
  if (next.slices.length > 0) await appendPlanned(db, passId, next.slices);
  if (next.complete) await completePass(db, passId);
}

/** When the last page of a slice came again unchanged and no entry came twice, no page has shifted. */
export async function endCheck(db: Db, pass: PassRow, same: boolean | null, at: Date): Promise<void> {
  await lockProject(db, pass.project);
  const slice = await currentSlice(db, pass.passId);
  if (slice?.outcome === 'checking') await takeStep(db, pass, ended(slice, same === true), at);
}

/** The cursor of the current slice is dead: another slice continues it. Throws `CannotResume`. */
export async function cutSlice(db: Db, pass: PassRow, cursor: string): Promise<void> {
  const slice = await currentSlice(db, pass.passId);
  if (slice?.outcome !== 'reading' || pass.position.cursor !== storedText(cursor)) return;
  await writeStep(db, pass, await decide(afterCut(slice), passFacts(db, pass)));
}

async function writeStep(db: Db, { passId }: PassRow, { slice, resumed }: SliceStep): Promise<void> {
  await writeSlice(db, passId, slice);
  if (resumed === null) return;
  await db.updateTable('sync_passes').set({ next_cursor: null }).where('pass_id', '=', passId).execute();
  await addSlices(db, passId, [resumed]);
}
