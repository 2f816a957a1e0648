import type { AuditFilter, AuditPlace } from '../../feedback/store/audit-records.ts';
import type { Installation } from '../../operations/installation.ts';
import { type AuditAction, type AuditEntry, auditActions } from '../../runs/rules/audit.ts';
import { ConsoleFailure } from '../console-failure.ts';
import { addressWith, textIn } from './address.ts';

/** What the address of the audit asks for; an empty text asks for nothing. */
export interface AuditQuery {
  since: keyof typeof spans | '';
  org: string;
  /** A part of the name of a site or project. */
  name: string;
  action: AuditAction | '';
  /** A part of the name of the person. */
  who: string;
  /** Where the page before ended. */
  after: AuditPlace | null;
}

const dayMs = 86_400_000;
const spans = { '1d': dayMs, '7d': 7 * dayMs, '30d': 30 * dayMs, '365d': 365 * dayMs };
/** Characters of a field. */
export const longestText = 300;

/** What the field of the page offers. */
export const sinceTexts = { '1d': 'a day', '7d': 'a week', '30d': '30 days', '365d': 'a year' } as const;

/** Reads an address. Throws `ConsoleFailure` for a malformed field, and names it. */
export function auditQuery(parameters: URLSearchParams): AuditQuery {
  const text = (field: string): string => {
    const value = textIn(parameters, field);
    return value.length <= longestText ? value : refuse(field, `is longer than ${longestText} characters`);
  };
  const oneOf = <Name extends string>(field: string, names: readonly Name[]): Name | '' => {
    const value = text(field);
    return names.find((name) => name === value) ?? (value === '' ? '' : refuse(field, `must be ${names.join(', ')}`));
  };
  return {
    since: oneOf('since', Object.keys(spans) as (keyof typeof spans)[]),
    org: text('org'),
    name: text('name'),
    action: oneOf('action', auditActions),
    who: text('who'),
    after: placeIn(text('after')),
  };
}

/** The query as an address. */
export function auditAddress({ after, ...asked }: AuditQuery): string {
  return addressWith('/audit', { ...asked, after: after === null ? '' : `${after.at} ${after.entryId}` });
}

/** What the store is asked, at a moment in milliseconds. */
function auditFilter({ since, org, name, action, who, after }: AuditQuery, now: number): AuditFilter {
  return {
    since: since === '' ? undefined : new Date(now - spans[since]).toISOString(),
    org: org || undefined,
    named: name || undefined,
    action: action || undefined,
    who: who || undefined,
    after: after ?? undefined,
  };
}

function placeIn(text: string): AuditPlace | null {
  if (text === '') return null;
  const [, at, entryId] = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (.+)$/u.exec(text) ?? [];
  return at === undefined || entryId === undefined ? refuse('after', 'is no place of the list') : { at, entryId };
}

function refuse(field: string, problem: string): never {
  throw new ConsoleFailure('BadQuery', `"${field}" ${problem}`, 'Start again from the whole list.');
}

/** A page of the audit. */
export interface AuditFacts {
  /** Newest first. */
  auditEntries: AuditEntry[];
  /** Where the next page begins; null when this is the last. */
  next: AuditPlace | null;
}

const shownAuditEntries = 50;

/** The same as `docferry audit` lists. */
export async function readAudit({ feedback }: Installation, query: AuditQuery): Promise<AuditFacts> {
  const auditEntries: AuditEntry[] = [];
  for await (const entry of (await feedback()).listAuditEntries(auditFilter(query, Date.now()))) {
    const last = auditEntries.at(-1);
    if (auditEntries.length === shownAuditEntries && last)
      return { auditEntries, next: { at: last.at, entryId: last.entryId } };
    auditEntries.push(entry);
  }
  return { auditEntries, next: null };
}
