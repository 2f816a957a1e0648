import { randomUUID } from 'node:crypto';
import { raw } from 'hono/html';
import { type Child, createContext, useContext } from 'hono/jsx';
import type { Forecast } from '../../budget/rules/permits.ts';
import { endsWell, longestReason } from '../../exports/rules/site-export.ts';
import { visible } from '../../feedback/report/figure.ts';
import type { Trouble } from '../../operations/status.ts';
import { withoutFailureType } from '../../rules/errors.ts';
import { counted } from '../../rules/text.ts';
import { projectAddress, siteAddress } from '../../rules/workflow-ids.ts';
import { type Retry, triedAgain } from '../../temporal/connection.ts';

/** Who looks at a page, and what the page may offer them. */
export interface Viewer {
  login: string;
  mayAct: boolean;
  /** Whether they see the contacts of feedback. */
  seesContacts: boolean;
  /** Why not, for people; null when they may. */
  whyNot: string | null;
  formToken: string;
  /** What was done by the form that led here; null for nothing. */
  note: string | null;
}

/** What every part of a page may ask. */
export interface Look {
  /** Null before the reader is signed in. */
  viewer: Viewer | null;
  /** When what the page shows was read; null for what is always new. */
  read: { at: number; late: boolean } | null;
}

export const Looking = createContext<Look>({ viewer: null, read: null });
export const useLook = (): Look => useContext(Looking);
export const useMayAct = (): boolean => useLook().viewer?.mayAct === true;

/** Foreign text on a page: nothing invisible in it, and it cannot turn the text around it. */
export function Foreign({ text }: { text: string }) {
  return <bdi>{visible(text)}</bdi>;
}

/** A name that leads to an address, where there is one. */
export function Linked({ to, name, title }: { to: string | null; name: string; title?: string }) {
  if (to === null) return <Foreign text={name} />;
  return (
    <a href={to} title={title}>
      <Foreign text={name} />
    </a>
  );
}

const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

/** `21 Nov 2026` of an ISO 8601 moment, in UTC. */
const dayText = (iso: string): string =>
  `${Number(iso.slice(8, 10))} ${months[Number(iso.slice(5, 7)) - 1]} ${iso.slice(0, 4)}`;

/** `17 min ago`, `in 3 h`; the day beyond 30 days. `live-script.ts` keeps it true while a page is open. */
function agoText(at: number, now: number): string {
  const minutes = Math.floor(Math.abs(now - at) / 60_000);
  if (minutes >= 30 * 1_440) return dayText(new Date(at).toISOString());
  if (minutes < 1) return at > now ? 'in a moment' : 'just now';
  const span =
    minutes < 60
      ? `${minutes} min`
      : minutes < 2_880
        ? `${Math.floor(minutes / 60)} h`
        : `${Math.floor(minutes / 1_440)} d`;
  return at > now ? `in ${span}` : `${span} ago`;
}

/** A moment by its age; hovering and print show the moment itself. Milliseconds or ISO 8601; a dash for none. */
export function When({ at, lasting = false }: { at: string | number | null /** `for 3 h` */; lasting?: boolean }) {
  if (at === null) return <span class="quiet">–</span>;
  const iso = new Date(at).toISOString();
  const text = agoText(Date.parse(iso), Date.now());
  return (
    <time datetime={iso} title={`${dayText(iso)}, ${iso.slice(11, 16)} UTC`} data-lasting={lasting ? '' : undefined}>
      {lasting ? text.replace(/^(.+) ago$/, 'for $1') : text}
    </time>
  );
}

/** The time of a version and the beginning of its digest; another name as it is. */
export function shortVersion(name: string): string {
  const [, month, day, hour, minute, digest] = /^\d{4}(\d\d)(\d\d)T(\d\d)(\d\d)\d\dZ-(.{4})/.exec(name) ?? [];
  return digest === undefined ? name : `${Number(day)} ${months[Number(month) - 1]} ${hour}:${minute} ${digest}`;
}

/** `21 Nov 04:02 a3f9` for `20261121T040200Z-a3f9…`, which hovering shows and a click copies; a dash for none. */
export function Version({ name }: { name: string | null }) {
  if (name === null) return <span class="quiet">–</span>;
  const short = shortVersion(name);
  if (short === name) return <Foreign text={name} />;
  return (
    <span class="version" data-copy={name} title={`${name}: click to copy`}>
      <span class="unseen">{name}</span>
      <span aria-hidden="true">{short}</span>
    </span>
  );
}

/** Kinds of health, each shown as a shape and in words. */
export function Health({ look, text }: { look: HealthLook; text: string }) {
  return (
    <span class={`health ${look}`} title={text}>
      <span class="unseen">{`${text} `}</span>
    </span>
  );
}

/** Each has a shape and a colour of its own. */
export type HealthLook = 'good' | 'bad' | 'wait' | 'run' | 'drift' | 'held' | 'stale' | 'none';

/** A column: its name, what its cell holds, and its head where that is more than the name. */
type Column<Row> = readonly [name: string, cell: (row: Row) => Child, head?: Child];

interface TableOf<Row> {
  caption: string;
  /** The first names the row. A column with an empty name holds the actions. */
  columns: readonly (Column<Row> | false)[];
  rows: readonly Row[];
  /** `dense`: one line a row. */
  look?: string;
  /** The checkbox that selects the row for the bulk bar. */
  tick?: ((row: Row) => { name: string; value: string; label: string }) | null;
  /** Rows of one group stand together, below its name. */
  groupOf?: ((row: Row) => string) | null;
}

/** A table, whose rows are cards on a phone. */
export function Table<Row>({ caption, columns, rows, look = '', tick = null, groupOf = null }: TableOf<Row>) {
  const shown = columns.filter((column) => column !== false);
  let group: string | null = null;
  return (
    <div class="scroll">
      <table class={`cards ${look}`.trim()}>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {tick && (
              <th scope="col" class="select">
                <span class="unseen">select</span>
              </th>
            )}
            {shown.map(([name, , head]) => (
              <th scope="col">{head ?? (name === '' ? <span class="unseen">actions</span> : name)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const box = tick?.(row);
            const before = group;
            group = groupOf?.(row) ?? null;
            return (
              <>
                {group !== before && (
                  <tr class="group">
                    <th scope="rowgroup" colspan={shown.length + (tick ? 1 : 0)}>
                      {group}
                    </th>
                  </tr>
                )}
                <tr>
                  {box && (
                    <td class="select">
                      <input
                        type="checkbox"
                        form="bulk"
                        id={`${box.name}-${box.value}`}
                        name={box.name}
                        value={box.value}
                        aria-label={`Select ${visible(box.label)}`}
                      />
                    </td>
                  )}
                  {shown.map(([name, cell], index) =>
                    index === 0 ? <th scope="row">{cell(row)}</th> : <td data-name={name}>{cell(row)}</td>,
                  )}
                </tr>
              </>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

/** Links that choose one of a few; the one that is shown is marked. */
export function Chips({
  label,
  links,
}: {
  label: string;
  links: readonly ({ id?: string; href: string; isShown?: boolean; text: Child } | false)[];
}) {
  const shown = links.filter((link) => link !== false);
  if (shown.length === 0) return null;
  return (
    <nav aria-label={label}>
      <ul class="chips">
        {shown.map(({ id, href, isShown = false, text }) => (
          <li>
            <a id={id} href={href} aria-current={isShown ? 'true' : undefined}>
              {text}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** Actions on the selected rows; it appears with the first selection. */
export function BulkBar({ verbs }: { verbs: readonly (readonly [verb: string, label: string])[] }) {
  if (!useMayAct()) return null;
  return (
    <form id="bulk" method="post" action="/bulk" class="bulk" aria-label="With selected">
      <Hidden />
      <span class="ticked" />
      {verbs.map(([verb, label]) => (
        <button type="submit" name="verb" value={verb} class="small">
          {`${label} …`}
        </button>
      ))}
    </form>
  );
}

const linesPerPage = 200;

/** The page of a long list that is shown: the last one if the list has fewer. */
export function pageOf(asked: number, lines: number) {
  const pages = Math.max(1, Math.ceil(lines / linesPerPage));
  const page = Math.min(asked, pages);
  const onPage = <Line,>(all: readonly Line[]) => all.slice((page - 1) * linesPerPage, page * linesPerPage);
  return { page, pages, onPage };
}

/** Pages escape every `<` of foreign text, so this stands nowhere else. */
export const writtenMark = '<!--written-->';

/** The place of what `page` puts into the page as bytes. */
export const Written = () => raw(writtenMark);

interface Paged {
  page: number;
  pages: number;
  /** In all pages. */
  lines: number;
  to(page: number): string;
}

/** The way to the pages before and after; nothing where there is one page. */
export function Paging({ page, pages, lines, to }: Paged) {
  if (pages === 1) return null;
  return (
    <div class="row">
      <Chips
        label="Pages"
        links={[
          page > 1 && { id: 'page-before', href: to(page - 1), text: 'Previous page' },
          page < pages && { id: 'page-after', href: to(page + 1), text: 'Next page' },
        ]}
      />
      <p class="fine">{`Page ${page} of ${pages}: ${counted(lines, 'line')}`}</p>
    </div>
  );
}

/** When a pass will be done if nothing changes, and what it still takes. */
export function DoneAt({ forecast: { doneAt, pages, windows } }: { forecast: Forecast }) {
  const rest = [counted(pages, 'page'), ...(windows > 0 ? [counted(windows, 'window')] : [])];
  return (
    <>
      ≈ <When at={doneAt} /> {`for ${rest.join(', ')}`}
    </>
  );
}

/** A message as the command line writes it, as a sentence: names that could begin one stay as they are. */
export function sentence(text: string): string {
  const shown = visible(text);
  const begun = /^[a-z]+ /.test(shown) ? `${shown.charAt(0).toUpperCase()}${shown.slice(1)}` : shown;
  return /[.:!?…]$/.test(begun) ? begun : `${begun}.`;
}

/** A part of a page under its heading, whose id is `<id>-title`. */
export function Section({ id, title, look, children }: { id: string; title: string; look?: string; children: Child }) {
  return (
    <section aria-labelledby={`${id}-title`} class={look}>
      <h2 id={`${id}-title`}>{title}</h2>
      {children}
    </section>
  );
}

/** Names and values. */
export function Facts({ facts }: { facts: readonly (readonly [string, Child] | null | false)[] }) {
  return (
    <dl class="facts">
      {facts.map(
        (fact) =>
          fact && (
            <>
              <dt>{fact[0]}</dt>
              <dd>{fact[1]}</dd>
            </>
          ),
      )}
    </dl>
  );
}

/** What could not be read, and what to do. */
export function Troubles({ troubles }: { troubles: readonly (Trouble & { unknown?: string })[] }) {
  return (
    <>
      {troubles.map(({ message, hint, unknown }) => (
        <div class="notice bad" role="status">
          <p>{sentence(unknown === undefined ? message : `${message}: ${unknown} are unavailable`)}</p>
          {hint !== null && <p>{sentence(hint)}</p>}
        </div>
      ))}
    </>
  );
}

/** A form that acts; nothing for a viewer who may only look. */
export function Act({
  action,
  label,
  fields = {},
  first = false,
  small = false,
  about,
  children,
}: {
  action: string;
  label: string;
  fields?: Readonly<Record<string, string>>;
  first?: boolean;
  small?: boolean;
  /** What its fields are for, if there are several forms. */
  about?: string;
  children?: Child;
}) {
  if (!useMayAct()) return null;
  const look = [first && 'first', small && 'small'].filter(Boolean).join(' ');
  return (
    <form method="post" action={action} class="act">
      {about !== undefined && <p class="about">{about}</p>}
      <Hidden />
      <HiddenFields fields={Object.entries(fields)} />
      {children}
      <button id={idOf(action, fields)} type="submit" class={look === '' ? undefined : look}>
        {label}
      </button>
    </form>
  );
}

/** By which the script puts the focus back when a part of the page is replaced. */
const idOf = (action: string, fields: Readonly<Record<string, string>>): string =>
  ['do', ...action.split('/').slice(1), ...Object.values(fields)].join('-');

/** Fields that a form carries along. */
export function HiddenFields({ fields }: { fields: readonly (readonly [name: string, value: string])[] }) {
  return (
    <>
      {fields.map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
    </>
  );
}

/** What every form that acts carries: its session, and its own id, by which it acts once even if it is sent twice. */
export function Hidden() {
  return (
    <>
      <Token />
      <HiddenFields fields={[['order', randomUUID()]]} />
    </>
  );
}

/** The session of a form; nothing before the reader is signed in. */
export function Token() {
  const { viewer } = useLook();
  return viewer && <HiddenFields fields={[['token', viewer.formToken]]} />;
}

export { projectAddress, siteAddress };

/** Address of what a version would change. */
export const changesAddress = ({ org, domain }: { org: string; domain: string }, version: string): string =>
  `${siteAddress(org, domain)}/changes/${encodeURIComponent(version)}`;

/** Address of a version as a website, or of one page of it. */
export const previewAddress = (
  { org, domain }: { org: string; domain: string },
  version: string,
  path: string | null = null,
): string =>
  `${siteAddress(org, domain)}/preview/${encodeURIComponent(version)}${path === null ? '' : `?page=${encodeURIComponent(path)}`}`;

interface Field {
  /** Of the address and, on its page, its id. */
  name: string;
  label: string;
  value: string;
}

/** A field of a form under its label. */
export function Labelled({ id, label, look, children }: { id: string; label: string; look?: string; children: Child }) {
  return (
    <div class={look === undefined ? 'field' : `field ${look}`}>
      <label for={id}>{label}</label>
      {children}
    </div>
  );
}

/** One of a few values; the empty one is for `all` of them. A value that an address has besides is one more. */
export function Choice({
  name,
  label,
  value,
  all = 'all',
  options,
}: Field & { all?: string; options: readonly (readonly [value: string, text: string])[] }) {
  const isOther = value !== '' && !options.some(([one]) => one === value);
  return (
    <Labelled id={name} label={label}>
      <select id={name} name={name}>
        <option value="">{all}</option>
        {[...options, ...(isOther ? [[value, value] as const] : [])].map(([one, text]) => (
          <option value={one} selected={one === value}>
            {visible(text)}
          </option>
        ))}
      </select>
    </Labelled>
  );
}

/** One of several organizations; nothing where there is only one. */
export function OrganizationChoice({ value, organizations }: { value: string; organizations: readonly string[] }) {
  if (organizations.length < 2) return null;
  return <Choice name="org" label="Organization" value={value} options={organizations.map((org) => [org, org])} />;
}

/** Part of a name. */
export function NamePart({ name, label, value, longest }: Field & { longest: number }) {
  return (
    <Labelled id={name} label={label}>
      <input id={name} name={name} type="search" value={visible(value)} maxlength={longest} />
    </Labelled>
  );
}

interface Ended {
  outcome: string;
  /** Whether a person should look at it. */
  isBad: boolean;
}

/** How a run or a pass ended. */
export function Outcome({ outcome, isBad }: Ended) {
  const look = isBad ? 'state bad' : endsWell(outcome) ? 'state good' : 'state';
  return <span class={look}>{outcome.replaceAll('-', ' ')}</span>;
}

/** Why something ended or failed. Names and versions in it are foreign text. */
export function Why({ reason }: { reason: string }) {
  return <bdi>{sentence(withoutFailureType(reason))}</bdi>;
}

/** What a run tries again and again, which otherwise looks as if it went well. */
export function Retries({ retries }: { retries: readonly Retry[] }) {
  return (
    <>
      {retries.map((retry) => (
        <div class="notice bad" role="status">
          <p>
            {`${retry.activity} ${triedAgain(retry)}: `}
            <Why reason={retry.reason} />
          </p>
        </div>
      ))}
    </>
  );
}

/** A field for a person's own words. */
export function Reason({ id, label, needed = false }: { id: string; label: string; needed?: boolean }) {
  return (
    <Labelled id={id} label={needed ? label : `${label} (optional)`}>
      <input id={id} type="text" name="reason" maxlength={longestReason} autocomplete="off" required={needed} />
    </Labelled>
  );
}
