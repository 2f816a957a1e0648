import { randomUUID } from 'node:crypto';
import { type AuditEntry, unnamedActor } from '../../runs/rules/audit.ts';
import { storedText } from '../rules/feedback-entry.ts';
import { recordAuditEntries } from '../store/audit-records.ts';
import { batchesOf, type EntryKeys, entriesAfter, isPostgres, lockAllProjects, textColumns } from '../store/queries.ts';
import type { Trx } from '../store/tables.ts';
import { inBatches, projectsWithData, rejectsAfter, treatEntries, treatRejects } from './apply-privacy.ts';
import { furtherNames, identityOf, keyedHash, PersonalData, textsName } from './personal-data.ts';
import { type Erasure, type ErasureRequest, keepEverything, type Privacy, storeKey } from './privacy.ts';

/** The person to look for, and how. */
interface Person {
  /** In the form of `identityOf`, and as `contacts: hash` stores it. */
  names: ReadonlySet<string>;
  /** A pattern of SQL that all rows match in which the person may be named; null where there is none. */
  pattern: string | null;
}

/**
 * Removes a person from the feedback tables, and stores a keyed hash so that later syncs keep them out: one transaction.
 * Entries stay, without anything that shows who wrote them or what, so that counts stay true.
 */
export async function eraseContact(
  trx: Trx,
  privacy: Privacy,
  request: ErasureRequest,
): Promise<Omit<Erasure, 'scrubbed'>> {
  await lockAllProjects(trx);
  const name = identityOf(storedText(request.contact));
  const key = await storeKey(trx);
  const names = new Set([name]);
  if (hasHashKey(privacy)) names.add(keyedHash(privacy.hashKey(), name));
  const person = { names, pattern: patternOf(name) };
  // Removes the person and nothing else.
  const personal = new PersonalData(keepEverything, { now: new Date(0), erased: names, storeKey: key });
  const projects: Erasure['projects'] = [];
  for (const project of request.project === undefined ? await projectsWithData(trx) : [request.project]) {
    const entries = await inBatches((after) =>
      treatEntries(trx, suspects(trx, project, after, person), personal, { leavesWords: false }),
    );
    const changes = await eraseChanges(trx, project, person);
    // All are examined: JSON can write an address in many ways.
    const rejects = await inBatches((after) => treatRejects(trx, rejectsAfter(trx, project, after), () => personal));
    if (entries + changes + rejects > 0) projects.push({ project, entries, changes, rejects });
  }
  const sum = (what: 'entries' | 'changes' | 'rejects') =>
    projects.reduce((total, project) => total + project[what], 0);
  const found = { entries: sum('entries'), changes: sum('changes'), rejects: sum('rejects') };
  const contact = keyedHash(key, name);
  const erasureId = randomUUID();
  await trx
    .insertInto('erasures')
    .values({
      erasure_id: erasureId,
      contact,
      project_id: request.project ?? null,
      erased_at: request.at.toISOString(),
      ...found,
    })
    .execute();
  await recordAuditEntries(trx, [auditOf(erasureId, request, found, names)]);
  return { contact, ...found, projects };
}

/** Says nothing about the erased person, not even if the person who erases has the same name. */
function auditOf(entryId: string, request: ErasureRequest, found: object, names: ReadonlySet<string>): AuditEntry {
  const { who = unnamedActor, org = null, project = null, at } = request;
  return {
    entryId,
    at: at.toISOString(),
    action: 'erase',
    org,
    subject: project,
    who: namesOneOf(who, names) ? 'not kept: it names the erased person' : who,
    reason: null,
    detail: JSON.stringify(found),
    workflowId: null,
  };
}

function namesOneOf(text: string, names: ReadonlySet<string>): boolean {
  const lower = text.toLowerCase();
  return [...names].some((name) => lower.includes(name));
}

/** Those with the contact's hash, and those in which a text may name the person. */
function suspects(db: Trx, project: string, after: string, { names, pattern }: Person): EntryKeys {
  const [, hash] = names;
  return entriesAfter(db, project, after)
    .where((row) =>
      row.or([
        ...(hash === undefined ? [] : [row('contact', '=', hash)]),
        ...textColumns.map((column) =>
          pattern === null ? row(column, 'is not', null) : row(column, likeIn(db), pattern),
        ),
      ]),
    )
    .orderBy('id');
}

/** History is kept of statuses, which may be any text: they are few, their changes are not. */
async function eraseChanges(trx: Trx, project: string, { names, pattern }: Person): Promise<number> {
  const pairs = await trx
    .selectFrom('feedback_changes')
    .select(['old', 'new'])
    .distinct()
    .where('project_id', '=', project)
    .where('field', '=', 'status')
    .$if(pattern !== null, (query) =>
      query.where((row) => row.or([row('old', likeIn(trx), pattern ?? ''), row('new', likeIn(trx), pattern ?? '')])),
    )
    .execute();
  let erased = 0;
  for (const pair of pairs) {
    const texts = [pair.old, pair.new].filter((text) => text !== null);
    if (!textsName(texts, names)) continue;
    const { numDeletedRows } = await trx
      .deleteFrom('feedback_changes')
      .where('project_id', '=', project)
      .where('field', '=', 'status')
      .where('old', pair.old === null ? 'is' : '=', pair.old)
      .where('new', pair.new === null ? 'is' : '=', pair.new)
      .executeTakeFirstOrThrow();
    erased += Number(numDeletedRows);
  }
  return erased;
}

/** The configuration has a key only with either. Contacts may have been hashed before `contacts` changed. */
function hasHashKey({ contacts, comments }: Privacy): boolean {
  return contacts === 'hash' || comments === 'hash';
}

/** Both databases ignore the case of ASCII letters, and compare others by their bytes: such names have no pattern. */
function patternOf(name: string): string | null {
  return /^[ -~]+$/.test(name) ? `%${name.replace(/[^a-z0-9]+/g, '%')}%` : null;
}

function likeIn(trx: Trx): 'like' | 'ilike' {
  return isPostgres(trx) ? 'ilike' : 'like';
}

/**
 * The names among `names` that belong to people erased from the project, and `furtherNames`, which nobody looks up. Empty
 * without such people; then `names` is not called.
 */
export async function erasedAmong(
  db: Trx,
  project: string,
  names: () => Iterable<string>,
): Promise<ReadonlySet<string>> {
  if ((await erasuresOf(db, project).limit(1).executeTakeFirst()) === undefined) return new Set();
  const key = await storeKey(db);
  const byHash = new Map([...new Set(names())].map((name) => [keyedHash(key, name), name]));
  const erased = new Set([furtherNames]);
  for (const hashes of batchesOf([...byHash.keys()])) {
    for (const { contact } of await erasuresOf(db, project).where('contact', 'in', hashes).execute()) {
      const name = byHash.get(contact);
      if (name !== undefined) erased.add(name);
    }
  }
  return erased;
}

function erasuresOf(db: Trx, project: string) {
  return db
    .selectFrom('erasures')
    .select('contact')
    .where((row) => row.or([row('project_id', 'is', null), row('project_id', '=', project)]));
}
