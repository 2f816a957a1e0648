import { nameText, visible } from '../../feedback/report/figure.ts';
import { knownSources, knownStatuses } from '../../feedback/rules/feedback-entry.ts';
import { type FeedbackQuery, feedbackAddress, helpfulValues } from '../readings/feedback-query.ts';
import { longestField } from '../readings/feedback-readings.ts';
import { Choice, HiddenFields, Labelled, OrganizationChoice } from './parts.tsx';

/** What there is to choose from. */
export interface FilterChoices {
  organizations: readonly {
    id: string;
    projects: readonly { id: string; name?: string }[];
    /** Of its sites. */
    domains: readonly string[];
  }[];
}

const helpfulTexts = { yes: 'yes', no: 'no', none: 'not asked' };

/** The form that asks. Without JavaScript too, all of it ends up in the address. */
export function FeedbackFilter({ query, choices }: { query: FeedbackQuery; choices: FilterChoices }) {
  const { words, org, project, source, status, helpful, document, from, to, since, by, all } = query;
  const { organizations } = choices;
  const narrowed = [org, project, source, status, helpful, document, from, to].some((value) => value !== '');
  return (
    <form method="get" action="/feedback">
      <div class="fields">
        <Labelled id="words" label="Words in comments and code" look="sought">
          <input id="words" name="words" type="search" value={visible(words)} maxlength={1000} aria-describedby="how" />
        </Labelled>
        <button type="submit" class="first">
          Search
        </button>
        <a class="button" href="/feedback">
          Clear
        </a>
      </div>
      <p class="fine" id="how">
        Every word must occur. <code>"side by side"</code> in quotes, <code>begin*</code> by its beginning.
      </p>
      <details class="more" open={narrowed}>
        <summary>Filters</summary>
        <div class="fields">
          <OrganizationChoice value={org} organizations={organizations.map(({ id }) => id)} />
          <ProjectChoice value={project} choices={choices} />
          <Choice
            name="source"
            label="Source"
            value={source}
            options={knownSources.map((name) => [name, nameText(name)])}
          />
          <Choice
            name="status"
            label="Status"
            value={status}
            options={[['open', 'open'], ...knownStatuses.map((name): [string, string] => [name, nameText(name)])]}
          />
          <Choice
            name="helpful"
            label="Helpful"
            value={helpful}
            options={helpfulValues.map((value) => [value, helpfulTexts[value]])}
          />
          <Labelled id="document" label="Page, as path or address" look="grow">
            <input id="document" name="document" type="text" value={visible(document)} maxlength={1000} />
          </Labelled>
          <Moment name="from" label="From (UTC)" value={from} />
          <Moment name="to" label="Before (UTC)" value={to} />
          <button type="submit">Apply</button>
        </div>
      </details>
      <HiddenFields fields={Object.entries({ since, all, by }).filter(([, value]) => value !== '')} />
    </form>
  );
}

function ProjectChoice({ value, choices: { organizations } }: { value: string; choices: FilterChoices }) {
  const options = ({ projects }: FilterChoices['organizations'][number]) =>
    projects.map(({ id, name }) => (
      <option value={id} selected={id === value}>
        {name ?? id}
      </option>
    ));
  return (
    <Labelled id="project" label="Project">
      <select id="project" name="project">
        <option value="">all</option>
        {organizations.length > 1
          ? organizations.map((organization) => <optgroup label={organization.id}>{options(organization)}</optgroup>)
          : organizations.map(options)}
      </select>
    </Labelled>
  );
}

/** A browser would show a date input in its own language's form. */
function Moment({ name, label, value }: { name: string; label: string; value: string }) {
  const form = { placeholder: 'YYYY-MM-DD', pattern: '\\d{4}-\\d{2}-\\d{2}(T.+)?', title: 'A day, such as 2026-11-21' };
  return (
    <Labelled id={name} label={label}>
      <input id={name} name={name} type="text" value={value} {...form} />
    </Labelled>
  );
}

/** In characters as an address has them; the console takes 16 KiB, cookies included. */
const longest = 8_000;

/** Address of an entry's page; null for an id that no address can hold, such as `..`, which a browser takes for a step up. */
export function entryAddress(project: string, id: string): string | null {
  const address = `/feedback/${encodeURIComponent(project)}/${encodeURIComponent(id.toWellFormed())}`;
  return /^\.{0,2}$/.test(id) || isCut(id) || address.length > longest ? null : address;
}

/** Address of what is said of a document, as far as it fits a query; null for a document that no address can hold. */
export function documentAddress(query: Partial<FeedbackQuery>, document: string): string | null {
  const address = feedbackAddress({ ...query, document, by: '', after: '' });
  return isCut(document) || address.length > longest ? null : address;
}

/** Of a text so long only the beginning was read. */
const isCut = (text: string): boolean => text.length >= longestField;
