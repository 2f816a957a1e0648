import { type Deed, deedActions } from '../../model/deed.ts';
import { detailText } from '../../model/own-deed.ts';
import type { AuditFacts } from '../readings/audit-facts.ts';
import { type AuditQuery, auditAddress, sinceTexts } from '../readings/audit-query.ts';
import { Page } from './layout.tsx';
import { Aged, Foreign, When } from './parts.tsx';
import type { Viewer } from './viewer.ts';

interface Audit {
  viewer: Viewer;
  query: AuditQuery;
  organizations: readonly string[];
  facts: AuditFacts;
  /** The page of what a deed was done to; null for what is not in the configuration. */
  addressOf(deed: Deed): string | null;
  at: number;
  late: boolean;
}

/** What people did by hand, newest first. */
export function AuditPage({ viewer, query, organizations, facts: { deeds, next }, addressOf, at, late }: Audit) {
  return (
    <Page title="Audit" viewer={viewer} at="/audit">
      <p class="under">
        What people did by hand. Names are as those who acted gave them; what is done here is kept with the login.
      </p>
      <Filters query={query} organizations={organizations} />
      <Aged at={at} late={late} />
      {deeds.length === 0 ? (
        <p class="quiet">The audit has no such deed.</p>
      ) : (
        <div class="scroll">
          <table class="cards audit">
            <caption class="unseen">Deeds, newest first</caption>
            <thead>
              <tr>
                {['did', 'to', 'who', 'when', 'why', 'with'].map((column) => (
                  <th scope="col">{column}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {deeds.map((deed) => (
                <Line deed={deed} address={addressOf(deed)} />
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

function Line({ deed, address }: { deed: Deed; address: string | null }) {
  const { at, who, action, org, subject, reason, detail } = deed;
  const name = <Foreign text={subject ?? org ?? 'everything'} />;
  return (
    <tr>
      <th scope="row" data-name="did">
        {action}
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
        <Foreign text={detailText(detail)} />
      </td>
    </tr>
  );
}

function Filters({ query, organizations }: { query: AuditQuery; organizations: readonly string[] }) {
  return (
    <form method="get" action="/audit" class="filter" aria-label="Filter">
      <Choice
        id="since"
        label="Within"
        all="all time"
        chosen={query.since}
        options={Object.entries(sinceTexts).map(([value, text]) => ({ value, text }))}
      />
      {organizations.length > 1 && (
        <Choice
          id="org"
          label="Organization"
          all="all"
          chosen={query.org}
          options={organizations.map((org) => ({ value: org, text: org }))}
        />
      )}
      <Text id="name" label="Site or project" value={query.name} />
      <Choice
        id="action"
        label="What"
        all="everything"
        chosen={query.action}
        options={deedActions.map((action) => ({ value: action, text: action }))}
      />
      <Text id="who" label="Who" value={query.who} />
      <button type="submit">Show</button>
    </form>
  );
}

interface Field {
  id: string;
  label: string;
}

function Choice({
  id,
  label,
  all,
  chosen,
  options,
}: Field & { all: string; chosen: string; options: readonly { value: string; text: string }[] }) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} name={id}>
        <option value="">{all}</option>
        {options.map(({ value, text }) => (
          <option value={value} selected={value === chosen}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

function Text({ id, label, value }: Field & { value: string }) {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} name={id} type="search" value={value} maxlength={300} />
    </div>
  );
}
