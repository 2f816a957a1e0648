import { counted, spanText } from '../../rules/text.ts';
import { type AuditAction, type AuditEntry, auditActions } from '../../runs/rules/audit.ts';
import { type AuditFacts, type AuditQuery, auditAddress, longestText, sinceTexts } from '../readings/audit-query.ts';
import { Page } from './layout.tsx';
import { Aged, Choice, Foreign, NamePart, TableHead, type Viewer, When } from './parts.tsx';

interface Audit {
  viewer: Viewer;
  query: AuditQuery;
  organizations: readonly string[];
  facts: AuditFacts;
  /** The page of what an audit entry was done to; null for what is not in the configuration. */
  addressOf(entry: AuditEntry): string | null;
  at: number;
  late: boolean;
}

/** What people did by hand, newest first. */
export function AuditPage({ viewer, query, organizations, facts: { auditEntries, next }, addressOf, at, late }: Audit) {
  return (
    <Page title="Audit" viewer={viewer} at="/audit">
      <p class="under">
        What people did by hand: in the console under their login, elsewhere under the name they gave.
      </p>
      <Filters query={query} organizations={organizations} />
      <Aged at={at} late={late} />
      {auditEntries.length === 0 ? (
        <p class="quiet">No matching audit entries.</p>
      ) : (
        <div class="scroll">
          <table class="cards audit">
            <caption class="unseen">Audit entries, newest first</caption>
            <TableHead columns={['did', 'to', 'who', 'when', 'why', 'with']} />
            <tbody>
              {auditEntries.map((entry) => (
                <Line entry={entry} address={addressOf(entry)} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      <ul class="chips">
        {query.after !== null && (
          <li>
            <a href={auditAddress({ ...query, after: null })}>Newest</a>
          </li>
        )}
        {next !== null && (
          <li>
            <a href={auditAddress({ ...query, after: next })}>Older</a>
          </li>
        )}
      </ul>
    </Page>
  );
}

function Line({ entry, address }: { entry: AuditEntry; address: string | null }) {
  const { at, who, action, org, subject, reason, detail } = entry;
  const name = <Foreign text={subject ?? org ?? 'everything'} />;
  return (
    <tr>
      <th scope="row" data-name="did">
        {auditWords[action] ?? action}
      </th>
      <td data-name="to">{address === null ? name : <a href={address}>{name}</a>}</td>
      <td data-name="who">
        <Foreign text={who} />
      </td>
      <td data-name="when">
        <When at={at} />
      </td>
      <td data-name="why">{reason !== null && <Foreign text={reason} />}</td>
      <td data-name="with">
        <Foreign text={auditDetail(detail)} />
      </td>
    </tr>
  );
}

function Filters({ query, organizations }: { query: AuditQuery; organizations: readonly string[] }) {
  return (
    <form method="get" action="/audit" class="filter" aria-label="Filter">
      <Choice name="since" label="Within" all="all time" value={query.since} options={Object.entries(sinceTexts)} />
      {organizations.length > 1 && (
        <Choice name="org" label="Organization" value={query.org} options={organizations.map((org) => [org, org])} />
      )}
      <NamePart name="name" label="Site or project" value={query.name} longest={longestText} />
      <Choice name="action" label="What" all="everything" value={query.action} options={auditChoices} />
      <NamePart name="who" label="Who" value={query.who} longest={longestText} />
      <button type="submit">Show</button>
    </form>
  );
}

/** What a person did, as other people say it. */
export const auditWords: Readonly<Record<AuditAction, string>> = {
  approve: 'approved a version',
  reject: 'rejected a version',
  rollback: 'started a rollback',
  hold: 'held the site',
  release: 'ended the hold',
  'budget-set': 'set the budget',
  'budget-reset': 'ended the override of the budget',
  'budget-pause': 'paused the budget',
  'budget-resume': 'resumed the budget',
  'budget-configure': 'configured the budget',
  erase: 'erased a person’s data',
  'start-export': 'started an export',
  'cancel-export': 'cancelled the export or rollback',
  'start-pass': 'started a pass',
  'cancel-pass': 'cancelled a pass',
  'poll-now': 'polled now',
  'schedule-pause': 'paused a schedule',
  'schedule-resume': 'resumed a schedule',
  'schedule-trigger': 'started a scheduled run',
  'schedule-backfill': 'made up for scheduled runs',
  'end-sessions': 'ended all sessions',
};

/** The choices of a filter: the address has the action as scripts know it. */
const auditChoices = auditActions.map((action) => [action, auditWords[action]] as const);

/** What the audit keeps about an audit entry, in words; what has none stands as `name value`. */
function auditDetail(detail: string): string {
  return Object.entries(JSON.parse(detail) as Record<string, unknown>)
    .map(([name, value]) => wordsOf(name, value) ?? `${name} ${value ?? '–'}`)
    .join(', ');
}

function wordsOf(name: string, value: unknown): string | null {
  if (name === 'forMs')
    return value === null ? 'without an end' : typeof value === 'number' ? `for ${spanText(value)}` : null;
  if (name === 'bulk' && value === true) return 'in bulk';
  if (name === 'promote' && value === true) return 'into service anyway';
  if (name === 'force' && value === true) return 'even if nothing changed';
  if (name === 'siteVersion') return `label ${value}`;
  if (name === 'previous') return value === null ? 'nothing was in service' : `before it ${value}`;
  const unit = Object.hasOwn(counts, name) ? counts[name] : undefined;
  return unit !== undefined && typeof value === 'number' ? counted(value, ...unit) : null;
}

const counts: Readonly<Record<string, [one: string, many: string]>> = {
  requests: ['request', 'requests'],
  paths: ['path', 'paths'],
  runs: ['run', 'runs'],
  sessions: ['session', 'sessions'],
  entries: ['entry', 'entries'],
  changes: ['change', 'changes'],
  rejects: ['reject', 'rejects'],
};
