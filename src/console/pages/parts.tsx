import { randomUUID } from 'node:crypto';
import type { Child } from 'hono/jsx';
import type { Forecast } from '../../budget/rules/permits.ts';
import { endsWell, longestReason } from '../../exports/rules/site-export.ts';
import { visible } from '../../feedback/report/figure.ts';
import type { Trouble } from '../../operations/status.ts';
import { withoutFailureType } from '../../rules/errors.ts';
import { counted } from '../../rules/text.ts';
import { projectAddress, siteAddress, targetAddress } from '../../rules/workflow-ids.ts';
import { type Retry, triedAgain } from '../../temporal/connection.ts';
import type { Session } from '../security/sessions.ts';

/** Foreign text on a page: nothing invisible in it, and it cannot turn the text around it. */
export function Foreign({ text }: { text: string }) {
  return <bdi>{visible(text)}</bdi>;
}

/** Path or address of a page as people write it: percent-encoded characters as themselves, unless one is invisible. */
export function pagePath(path: string): string {
  try {
    // What would change the meaning, such as %2F or %25, stays encoded.
    const decoded = decodeURI(path.replaceAll('%25', '%2525'));
    return /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u.test(decoded) ? decoded : path;
  } catch {
    return path;
  }
}

/** A moment in UTC; the script writes the reader's time before it. Milliseconds or ISO 8601; a dash for none. */
export function When({ at }: { at: string | number | null }) {
  if (at === null) return <span class="quiet">–</span>;
  const iso = new Date(at).toISOString();
  return (
    <time datetime={iso}>
      <span class="utc">{`${iso.slice(0, 16).replace('T', ' ')} UTC`}</span>
    </time>
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
          <p>{sentence(unknown === undefined ? message : `${message}: it is not known ${unknown}`)}</p>
          {hint !== null && <p>{sentence(hint)}</p>}
        </div>
      ))}
    </>
  );
}

/** That a page is older than it should be. */
export function Aged({ at, late }: { at: number; late: boolean }) {
  if (!late) return null;
  return (
    <div class="notice" role="status">
      <p>
        This is as of <When at={at} />: nothing newer could be read in time.
      </p>
    </div>
  );
}

/** A form that acts; nothing for a viewer who may only look. */
export function Act({
  viewer,
  action,
  label,
  fields = {},
  first = false,
  small = false,
  about,
  children,
}: {
  viewer: Viewer;
  action: string;
  label: string;
  fields?: Readonly<Record<string, string>>;
  first?: boolean;
  small?: boolean;
  /** What its fields are for, if there are several forms. */
  about?: string;
  children?: Child;
}) {
  if (!viewer.mayAct) return null;
  const look = [first && 'first', small && 'small'].filter(Boolean).join(' ');
  return (
    <form method="post" action={action} class="act">
      {about !== undefined && <p class="about">{about}</p>}
      <Hidden viewer={viewer} />
      {Object.entries(fields).map(([name, value]) => (
        <input type="hidden" name={name} value={value} />
      ))}
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

/** What every form that acts carries: its session, and its own id. */
export function Hidden({ viewer }: { viewer: Viewer }) {
  return (
    <>
      <input type="hidden" name="token" value={viewer.formToken} />
      <input type="hidden" name="order" value={newFormId()} />
    </>
  );
}

export { projectAddress, siteAddress, targetAddress };

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
    <div class="field">
      <label for={name}>{label}</label>
      <select id={name} name={name}>
        <option value="">{all}</option>
        {[...options, ...(isOther ? [[value, value] as const] : [])].map(([one, text]) => (
          <option value={one} selected={one === value}>
            {visible(text)}
          </option>
        ))}
      </select>
    </div>
  );
}

/** Part of a name. */
export function NamePart({ name, label, value, longest }: Field & { longest: number }) {
  return (
    <div class="field">
      <label for={name}>{label}</label>
      <input id={name} name={name} type="search" value={visible(value)} maxlength={longest} />
    </div>
  );
}

/** Names of a table's columns; after them one for what can be done with a line, where the viewer may act. */
export function TableHead({ columns, acts = false }: { columns: readonly string[]; acts?: boolean }) {
  return (
    <thead>
      <tr>
        {columns.map((column) => (
          <th scope="col">{column}</th>
        ))}
        {acts && (
          <th scope="col">
            <span class="unseen">actions</span>
          </th>
        )}
      </tr>
    </thead>
  );
}

interface Ended {
  outcome: string;
  /** Whether a person should look at it. */
  isBad: boolean;
  /** Which pass of a project. */
  pass?: string;
}

/** How a run or a pass ended. */
export function Outcome({ outcome, isBad, pass = '' }: Ended) {
  const look = isBad ? 'state bad' : endsWell(outcome) ? 'state good' : 'state';
  return <span class={look}>{`${pass === '' ? '' : `${pass} `}${outcome.replaceAll('-', ' ')}`}</span>;
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
export function Reason({ id, label }: { id: string; label: string }) {
  return (
    <div class="field">
      <label for={id}>{`${label} (optional)`}</label>
      <input id={id} type="text" name="reason" maxlength={longestReason} autocomplete="off" />
    </div>
  );
}

/** Who looks at a page, and what the page may offer them. */
export interface Viewer {
  login: string;
  /** Whether they may act. */
  mayAct: boolean;
  /** Whether they see the contacts of feedback. */
  seesContacts: boolean;
  /** Why not, for people; null when they may. */
  whyNot: string | null;
  formToken: string;
  /** What was done by the form that led here; null for nothing. */
  note: string | null;
}

/** `note` is the id under which the session remembers what was done. */
export function viewerOf({ identity, formToken, notes }: Session, write: boolean, note: string | undefined): Viewer {
  const whyNot = !write
    ? 'The console is read-only: console.write in docferry.yaml lets operators act.'
    : identity.operator
      ? null
      : 'You may look; only operators may act.';
  return {
    login: identity.login,
    mayAct: whyNot === null,
    seesContacts: identity.contacts,
    whyNot,
    formToken,
    note: note === undefined ? null : (notes.get(note) ?? null),
  };
}

/** The id of a form, by which what it asks for is done once. */
const newFormId = (): string => randomUUID();
