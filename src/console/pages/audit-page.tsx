import type { AuditEntry } from '../../runs/rules/audit.ts';
import type { AuditFacts } from '../readings/audit-query.ts';
import { type AuditQuery, auditAddress, longestText, sinceTexts } from '../readings/audit-query.ts';
import { auditChoices, auditDetail, auditWords } from './audit-words.ts';
import { Page } from './layout.tsx';
import { Aged, Choice, Foreign, NamePart, TableHead, When } from './parts.tsx';
import type { Viewer } from './viewer.ts';

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
