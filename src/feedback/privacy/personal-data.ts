import { createHmac } from 'node:crypto';
import { withoutEnd } from '../../rules/text.ts';
import type { RejectedEntry } from '../rules/feedback-entry.ts';
import { createdAtUtc, storedExtra } from '../rules/feedback-entry.ts';
import { type Content, textColumns } from '../store/queries.ts';
import type { FeedbackTable } from '../store/tables.ts';
import { type Handling, isRestricted, type Privacy, retentionStart } from './privacy.ts';

/*
 * By what a person is recognised in what the service sends. Texts can be megabytes of anything: all of this takes time
 * in proportion to their length.
 */

/** Names looked up of one column of an entry. A pasted lock file may have more, or a text made to keep the worker busy. */
const mostNames = 2_000;

/** Stands for the names of a text beyond `mostNames`; no contact is called so. Where people were erased, it is one of them. */
export const furtherNames = '\0';

/** Longer ones are not a name and address. */
const longestContact = 1_000;

const longestLocalPart = 64;
const longestDomain = 253;

const localCharacter = /[\w.!#$%&'*+/=?^`{|}~\u0080-\uFFFF-]/;
const domainCharacter = /[\w.\u0080-\uFFFF-]/;
/** May belong to an address or stand before one, as in `?mail=jane@a.example`. */
const cut = /[!#$%&'*/=?^`{|}~\u0080-\uFFFF]/g;

/** Where a domain ends, perhaps before the dot of a sentence. */
const domainEnd = /[.-]*(?![\w.-])/y;

/** The name of the person who left this contact: the address without what mail programs put around it. */
export function identityOf(contact: string): string {
  const text = contact.trim().toLowerCase();
  if (text.length > longestContact) return text;
  const inner = /<([^<>]+)>$/.exec(text)?.[1] ?? text;
  return inner.replace(/^mailto:/, '').trim();
}

/** What may be an address in a text, in lower case, also in scripts without blanks or encoded for a URL. */
export function* identitiesIn(text: string): Generator<string, void, undefined> {
  for (const reading of readingsOf(text)) {
    for (let at = reading.indexOf('@'); at !== -1; at = reading.indexOf('@', at + 1)) yield* namesAround(reading, at);
  }
}

/** Whether a text names one of these people by address, however many others it names. */
export function mentionsOneOf(text: string, people: ReadonlySet<string>): boolean {
  const addresses = [...people].filter((name) => /.@./s.test(name));
  if (addresses.length === 0 || !/@|%40/.test(text)) return false;
  return readingsOf(text).some((reading) => {
    const lower = reading.toLowerCase();
    return addresses.some((address) => standsIn(lower, address));
  });
}

/** As a whole: `jane@a.example` does not stand in `mary-jane@a.example`. */
function standsIn(text: string, address: string): boolean {
  for (let at = text.indexOf(address); at !== -1; at = text.indexOf(address, at + 1)) {
    const end = at + address.length;
    domainEnd.lastIndex = end;
    if (!/[\w.+-]/.test(text.charAt(at - 1)) && domainEnd.test(text)) return true;
  }
  return false;
}

function readingsOf(text: string): string[] {
  return text.includes('%40') ? [text, decoded(text)] : [text];
}

function namesAround(text: string, at: number): string[] {
  const local = text.slice(startOfLocalPart(text, at), at);
  const domain = withoutEnd(text.slice(at + 1, endOfDomain(text, at)), '.-');
  if (local === '' || domain === '') return [];
  const ascii = withoutEnd(domain.replace(/[\u0080-\uFFFF].*$/s, ''), '.-');
  const locals = new Set([local, ...[...local.matchAll(cut)].map(({ index }) => local.slice(index + 1))]);
  const domains = new Set([domain, ascii]);
  const names = [...domains].flatMap((end) => [...locals].map((start) => (start && end ? `${start}@${end}` : '')));
  return names.filter((name) => name !== '').map((name) => name.toLowerCase());
}

function startOfLocalPart(text: string, at: number): number {
  let start = at;
  while (start > 0 && at - start < longestLocalPart && localCharacter.test(text.charAt(start - 1))) start -= 1;
  return start;
}

function endOfDomain(text: string, at: number): number {
  let end = at + 1;
  while (end < text.length && end - at <= longestDomain && domainCharacter.test(text.charAt(end))) end += 1;
  return end;
}

/** The characters of ASCII that a URL writes as `%40` and the like. */
function decoded(text: string): string {
  return text.replace(/%([2-7][0-9a-f])/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** All strings of a JSON value, keys included. */
export function* stringsIn(value: unknown): Generator<string, void, undefined> {
  const open = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === 'string') yield next;
    else if (Array.isArray(next)) for (const item of next) open.push(item);
    else if (typeof next === 'object' && next !== null) {
      for (const [key, field] of Object.entries(next)) open.push(key, field);
    }
  }
}

/** What hashed values begin with. */
export const hashPrefix = 'hmac-sha256:';

/** Characters of a hashed value: the prefix and 64 hex digits. */
export const hashLength = hashPrefix.length + 64;

/** HMAC-SHA-256 of the text in UTF-8, with a prefix that plain text does not have: 76 characters. */
export function keyedHash(key: string, text: string): string {
  return hashPrefix + createHmac('sha256', key).update(text).digest('hex');
}

export function isKeyedHash(text: string): boolean {
  return text.length === hashLength && /^hmac-sha256:[0-9a-f]{64}$/.test(text);
}

/** Replaces a text that names an erased person where the column cannot be empty. */
const erasedText = 'erased';

/** The beginning of a reject whose text was removed; otherwise `raw` is JSON text, which never begins like this. */
export const namesOnlyPrefix = 'field names: ';

/** Removes from entries and rejects what must not be stored (privacy.md). Pure: it is given the people who were erased. */
export class PersonalData {
  readonly #privacy: Privacy;
  readonly #now: string;
  readonly #keptSince: string | null;
  readonly #erased: ReadonlySet<string>;
  readonly #storeKey: string;

  /** `erased`: names (`identityOf`) of people to keep out. `storeKey`: for ids that are a digest of a reject's text. */
  constructor(privacy: Privacy, about: { now: Date; erased: ReadonlySet<string>; storeKey: string }) {
    this.#privacy = privacy;
    this.#now = about.now.toISOString();
    this.#keptSince = retentionStart(privacy, about.now);
    this.#erased = about.erased;
    this.#storeKey = about.storeKey;
  }

  /** An entry as the service sent it, as it is to be stored. */
  sent<Row extends Content>(content: Row, firstSeenAt: string): Row {
    return this.#treated(content, firstSeenAt, (value, handling) => this.#handled(value, handling));
  }

  /** A stored row, perhaps of other settings, as it should be; the row itself when it is so already. */
  stored(row: FeedbackTable): FeedbackTable {
    const handled = (value: string, handling: Handling) =>
      handling === 'hash' && isKeyedHash(value) ? value : this.#handled(value, handling);
    const treated = this.#treated(row, row.first_seen_at, handled);
    const isSame = (Object.keys(row) as (keyof FeedbackTable)[]).every((column) => row[column] === treated[column]);
    return isSame ? row : treated;
  }

  /** A reject as it is to be stored; one that is stored already, as it should be. */
  reject<Reject extends RejectedEntry>(reject: Reject): Reject {
    const isNaming = this.#isErased(reject.id);
    const hashedId = () => keyedHash(this.#storeKey, reject.id);
    if (reject.raw.startsWith(namesOnlyPrefix)) return isNaming ? { ...reject, id: hashedId() } : reject;
    const value = parsed(reject.raw);
    const mayStay = !isRestricted(this.#privacy) && this.#isYoung(dateOf(value)) && !rejectNames(reject, this.#erased);
    if (mayStay) return reject;
    const id = isNaming || reject.id.startsWith('sha256:') ? hashedId() : reject.id;
    return { ...reject, id, raw: namesOnlyPrefix + fieldNames(value) };
  }

  #treated<Row extends Content>(
    sent: Row,
    firstSeenAt: string,
    handled: (value: string, handling: Handling) => string | null,
  ): Row {
    const row = entryNames(sent, this.#erased) ? this.#withoutErased(sent) : sent;
    if (this.#isTooOld(row.created_at_utc, firstSeenAt)) return { ...row, ...withoutText };
    if (!isRestricted(this.#privacy)) return row;
    const { contacts, comments } = this.#privacy;
    const { contact, comment, code } = row;
    return {
      ...row,
      contact:
        contact === null
          ? null
          : handled(contacts === 'hash' && !isKeyedHash(contact) ? identityOf(contact) : contact, contacts),
      comment: comment === null ? null : handled(comment, comments),
      code: code === null ? null : handled(code, comments),
      extra: this.#listed(row.extra),
    };
  }

  #handled(value: string, handling: Handling): string | null {
    if (handling === 'keep') return value;
    return handling === 'drop' ? null : keyedHash(this.#privacy.hashKey(), value);
  }

  /** Unknown fields that are to be kept. */
  #listed(extra: string | null): string | null {
    if (extra === null) return null;
    const fields = Object.entries(parsed(extra) ?? {});
    return storedExtra(Object.fromEntries(fields.filter(([name]) => this.#privacy.keepFields.includes(name))));
  }

  /** Dates in the future say nothing about an entry's age. */
  #isTooOld(createdAtUtc: string | null, firstSeenAt: string): boolean {
    const since = createdAtUtc !== null && createdAtUtc <= this.#now ? createdAtUtc : firstSeenAt;
    return this.#keptSince !== null && since < this.#keptSince;
  }

  /** A reject is stored again each time it is seen: without a date it would never grow old, so it counts as old at once. */
  #isYoung(createdAtUtc: string | null): boolean {
    if (this.#keptSince === null) return true;
    return createdAtUtc !== null && createdAtUtc <= this.#now && createdAtUtc >= this.#keptSince;
  }

  /** Removes what an erased person wrote with their contact, and from the entries of others what names the person. */
  #withoutErased<Row extends Content>(row: Row): Row {
    const { contact } = row;
    const isTheirs = contact !== null && (this.#erased.has(identityOf(contact)) || this.#isErased(contact));
    const rest = isTheirs ? { ...row, ...withoutText } : row;
    const unlessNamed = (text: string | null) => (text === null || this.#isErased(text) ? null : text);
    const path = row.path.replace(/[?#].*$/s, '');
    return {
      ...rest,
      comment: unlessNamed(rest.comment),
      code: unlessNamed(rest.code),
      extra: rest.extra === null || textsName(textsOfJson(rest.extra), this.#erased) ? null : rest.extra,
      filename: unlessNamed(row.filename),
      lang: unlessNamed(row.lang),
      created_at: unlessNamed(row.created_at),
      path: unlessNamed(row.path) ?? unlessNamed(path) ?? erasedText,
      source: unlessNamed(row.source) ?? erasedText,
      status: unlessNamed(row.status) ?? erasedText,
    };
  }

  #isErased(text: string): boolean {
    return textsName([text], this.#erased);
  }
}

const withoutText = { contact: null, comment: null, code: null, extra: null };

/** Whom an entry may name, its contact first. */
export function* namesOfEntry(row: Content): Generator<string, void, undefined> {
  if (row.contact !== null) yield identityOf(row.contact);
  for (const column of textColumns) yield* namesIn(textsOfColumn(row, column));
}

/** Whom an unreadable entry may name. */
export function* namesOfReject(reject: Pick<RejectedEntry, 'id' | 'raw'>): Generator<string, void, undefined> {
  const contact = contactOfReject(reject);
  if (contact !== null) yield identityOf(contact);
  yield* namesIn(textsOfReject(reject));
}

function entryNames(row: Content, people: ReadonlySet<string>): boolean {
  return (row.contact !== null && people.has(identityOf(row.contact))) || textsName(textsOfEntry(row), people);
}

/** Whether an entry that cannot be understood names one of these people. */
export function rejectNames(reject: Pick<RejectedEntry, 'id' | 'raw'>, people: ReadonlySet<string>): boolean {
  const contact = contactOfReject(reject);
  return (contact !== null && people.has(identityOf(contact))) || textsName(textsOfReject(reject), people);
}

/** Whether one of the texts names one of these people, however many others they name. */
export function textsName(texts: Iterable<string>, people: ReadonlySet<string>): boolean {
  if (people.size === 0) return false;
  const all = [...texts];
  if (all.some((text) => mentionsOneOf(text, people))) return true;
  for (const name of namesIn(all)) if (people.has(name)) return true;
  return false;
}

/** The first names in the texts, and `furtherNames` if there are more. */
function* namesIn(texts: Iterable<string>): Generator<string, void, undefined> {
  let left = mostNames;
  for (const text of texts) {
    for (const name of identitiesIn(text)) {
      if (left === 0) return yield furtherNames;
      left -= 1;
      yield name;
    }
  }
}

function* textsOfEntry(row: Content): Generator<string, void, undefined> {
  for (const column of textColumns) yield* textsOfColumn(row, column);
}

function textsOfColumn(row: Content, column: (typeof textColumns)[number]): Iterable<string> {
  const text = row[column];
  if (text === null) return [];
  return column === 'extra' ? textsOfJson(text) : [text];
}

function* textsOfReject({ id, raw }: Pick<RejectedEntry, 'id' | 'raw'>): Generator<string, void, undefined> {
  yield id;
  yield* textsOfJson(raw);
}

function textsOfJson(json: string): Iterable<string> {
  return stringsIn(parsed(json) ?? json);
}

function contactOfReject({ raw }: Pick<RejectedEntry, 'raw'>): string | null {
  const contact = fieldOf(parsed(raw), 'contact');
  return typeof contact === 'string' ? contact : null;
}

function dateOf(value: unknown): string | null {
  const createdAt = fieldOf(value, 'createdAt');
  return typeof createdAt === 'string' ? createdAtUtc(createdAt) : null;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/** Only names that look like names: a field may be called anything. */
function fieldNames(value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'none';
  const names = Object.keys(value).map((name) => (/^[A-Za-z_][\w-]{0,63}$/.test(name) ? name : '…'));
  return names.length === 0 ? 'none' : [...new Set(names)].join(', ');
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}
