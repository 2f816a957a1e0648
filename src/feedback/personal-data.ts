import { createdAtUtc } from './created-at.ts';
import type { Content } from './entry-content.ts';
import type { RejectedEntry } from './feedback-entry.ts';
import { isKeyedHash, keyedHash } from './keyed-hash.ts';
import { nameOf, namesIn, stringsIn } from './person-names.ts';
import { type Handling, isRestricted, type Privacy, retentionStart } from './privacy.ts';
import type { FeedbackTable } from './schema.ts';
import { storedExtra } from './stored-text.ts';

/** What stands where an erased person was named and the column cannot be empty. */
const erasedText = 'erased';

/** Begins what is left of a reject; `raw` is JSON text otherwise, which never begins so. */
export const namesOnlyPrefix = 'field names: ';

/** Takes what must not be stored out of entries and rejects (docs/privacy.md). Pure: who was erased is told to it. */
export class PersonalData {
  readonly #privacy: Privacy;
  readonly #now: string;
  readonly #keptSince: string | null;
  readonly #erased: ReadonlySet<string>;
  readonly #storeKey: string;

  /**
   * `erased`: the names (`nameOf`) of people whose data must not be stored. `storeKey`: for ids that are a digest of
   * what a reject held.
   */
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

  /** A row as it was stored, perhaps under other settings, as it should be; the row itself when it is so already. */
  held(row: FeedbackTable): FeedbackTable {
    const handled = (value: string, handling: Handling) =>
      handling === 'hash' && isKeyedHash(value) ? value : this.#handled(value, handling);
    const treated = this.#treated(row, row.first_seen_at, handled);
    const isSame = (Object.keys(row) as (keyof FeedbackTable)[]).every((column) => row[column] === treated[column]);
    return isSame ? row : treated;
  }

  /** A reject as it is to be stored; one that is stored already, as it should be. */
  reject<Reject extends RejectedEntry>(reject: Reject): Reject {
    if (reject.raw.startsWith(namesOnlyPrefix)) return reject;
    const value = parsed(reject.raw);
    const mayStay = !isRestricted(this.#privacy) && this.#isYoung(dateOf(value)) && !this.#namesErased(reject);
    if (mayStay) return reject;
    const isOwnId = !reject.id.startsWith('sha256:') && !this.#isErased(namesIn(reject.id));
    const id = isOwnId ? reject.id : keyedHash(this.#storeKey, reject.id);
    return { ...reject, id, raw: namesOnlyPrefix + fieldNames(value) };
  }

  #treated<Row extends Content>(
    sent: Row,
    firstSeenAt: string,
    handled: (value: string, handling: Handling) => string | null,
  ): Row {
    const isErased = this.#erased.size > 0 && this.#isErased(namesOfEntry(sent));
    const row = isErased ? this.#withoutErased(sent) : sent;
    if (this.#isTooOld(row.created_at_utc, firstSeenAt)) return { ...row, ...withoutText };
    if (!isRestricted(this.#privacy)) return row;
    const { contacts, comments } = this.#privacy;
    const { contact, comment, code } = row;
    return {
      ...row,
      contact:
        contact === null
          ? null
          : handled(contacts === 'hash' && !isKeyedHash(contact) ? nameOf(contact) : contact, contacts),
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

  /** It is stored anew at each sight: one that tells no date would never grow old, so it counts as old at once. */
  #isYoung(createdAtUtc: string | null): boolean {
    if (this.#keptSince === null) return true;
    return createdAtUtc !== null && createdAtUtc <= this.#now && createdAtUtc >= this.#keptSince;
  }

  /** What an erased person wrote goes with their contact; of others' entries only what names them. */
  #withoutErased<Row extends Content>(row: Row): Row {
    const { contact } = row;
    const isTheirs = contact !== null && this.#isErased([nameOf(contact), ...namesIn(contact)]);
    const rest = isTheirs ? { ...row, ...withoutText } : row;
    const unlessNamed = (text: string | null) => (text === null || this.#isErased(namesIn(text)) ? null : text);
    const path = row.path.replace(/[?#].*$/s, '');
    return {
      ...rest,
      comment: unlessNamed(rest.comment),
      code: unlessNamed(rest.code),
      extra: rest.extra === null || this.#isErased(namesOfJson(rest.extra)) ? null : rest.extra,
      filename: unlessNamed(row.filename),
      lang: unlessNamed(row.lang),
      created_at: unlessNamed(row.created_at),
      path: unlessNamed(row.path) ?? unlessNamed(path) ?? erasedText,
      source: unlessNamed(row.source) ?? erasedText,
      status: unlessNamed(row.status) ?? erasedText,
    };
  }

  #namesErased({ id, raw }: RejectedEntry): boolean {
    return this.#erased.size > 0 && this.#isErased(namesOfReject({ id, raw }));
  }

  #isErased(names: Iterable<string>): boolean {
    for (const name of names) if (this.#erased.has(name)) return true;
    return false;
  }
}

const withoutText = { contact: null, comment: null, code: null, extra: null };

/** Names looked for in one entry, however many texts it has. */
const mostNames = 5_000;

/** By what people may be named in an entry, its contact first. */
export function namesOfEntry(row: Content): Iterable<string> {
  return upTo(mostNames, allNamesOfEntry(row));
}

/** By what people may be named in an entry that cannot be understood. */
export function namesOfReject(reject: Pick<RejectedEntry, 'id' | 'raw'>): Iterable<string> {
  return upTo(mostNames, allNamesOfReject(reject));
}

function* allNamesOfEntry(row: Content): Generator<string, void, undefined> {
  const { contact, comment, code, filename, lang, path, created_at, source, status, extra } = row;
  if (contact !== null) yield nameOf(contact);
  const texts = [contact, comment, code, filename, lang, path, created_at, source, status];
  for (const text of texts) if (text !== null) yield* namesIn(text);
  if (extra !== null) yield* namesOfJson(extra);
}

function* namesOfJson(json: string): Generator<string, void, undefined> {
  for (const text of stringsIn(parsed(json) ?? json)) yield* namesIn(text);
}

function* allNamesOfReject({ id, raw }: Pick<RejectedEntry, 'id' | 'raw'>): Generator<string, void, undefined> {
  yield* namesIn(id);
  const contact = fieldOf(parsed(raw), 'contact');
  if (typeof contact === 'string') yield nameOf(contact);
  yield* namesOfJson(raw);
}

function* upTo(most: number, names: Iterable<string>): Generator<string, void, undefined> {
  let left = most;
  for (const name of names) {
    if (left === 0) return;
    left -= 1;
    yield name;
  }
}

function dateOf(value: unknown): string | null {
  const createdAt = fieldOf(value, 'createdAt');
  return typeof createdAt === 'string' ? createdAtUtc(createdAt) : null;
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/** Names that look like names: anybody can send anything for one. */
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
