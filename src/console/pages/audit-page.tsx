import { visible } from '../../feedback/report/figure.ts';
import { type AuditAction, type AuditEntry, auditActions, auditDetail } from '../../runs/rules/audit.ts';
import { type AuditFacts, type AuditQuery, auditAddress, longestText, sinceTexts } from '../readings/audit-query.ts';
import { Page } from './layout.tsx';
import { Chips, Choice, Foreign, Linked, NamePart, OrganizationChoice, Table, When } from './parts.tsx';

interface Audit {
  query: AuditQuery;
  organizations: readonly string[];
  facts: AuditFacts;
  /** The page of an audit entry's site, project or organization; null if it is not configured. */
  addressOf(entry: AuditEntry): string | null;
}

/** What people did by hand, newest first. */
export function AuditPage({ query, organizations, facts: { auditEntries, next }, addressOf }: Audit) {
  return (
    <Page title="Audit" at="/audit">
      <p class="under">
        What people did by hand: in the console under their login, elsewhere under the name they gave.
      </p>
      <Filters query={query} organizations={organizations} />
      {auditEntries.length === 0 ? (
        <p class="quiet">No matching audit entries.</p>
      ) : (
        <Table
          caption="Audit entries, newest first"
          look="dense log"
          rows={auditEntries}
          columns={[
            ['who', ({ who }) => <Foreign text={who} />],
            ['did', ({ action }) => auditWords[action] ?? action],
            ['what', (entry) => <Linked to={addressOf(entry)} name={entry.subject ?? entry.org ?? 'everything'} />],
            ['when', ({ at }) => <When at={at} />],
            ['why', ({ reason, detail }) => <Reasons reason={reason} detail={auditDetail(detail)} />],
          ]}
        />
      )}
      <Chips
        label="Pages"
        links={[
          query.after !== null && { href: auditAddress({ ...query, after: null }), text: 'Newest' },
          next !== null && { href: auditAddress({ ...query, after: next }), text: 'Older' },
        ]}
      />
    </Page>
  );
}

/** The reason that the person gave, then the entry's other details. */
function Reasons({ reason, detail }: { reason: string | null; detail: string }) {
  return (
    <span title={visible([reason, detail].filter(Boolean).join(' · '))}>
      {reason !== null && <Foreign text={reason} />}
      {reason !== null && detail !== '' && ' · '}
      {detail !== '' && (
        <span class="quiet">
          <Foreign text={detail} />
        </span>
      )}
    </span>
  );
}

function Filters({ query, organizations }: { query: AuditQuery; organizations: readonly string[] }) {
  return (
    <form method="get" action="/audit" class="filter" aria-label="Filter">
      <Choice name="since" label="Within" all="all time" value={query.since} options={Object.entries(sinceTexts)} />
      <OrganizationChoice value={query.org} organizations={organizations} />
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
  'budget-reset': 'removed the budget override',
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
