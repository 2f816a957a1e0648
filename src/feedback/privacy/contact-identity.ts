import { withoutEnd } from '../../rules/short-texts.ts';

/*
 * By what a person is recognised in what the service sends. Texts can be megabytes of anything: all of this takes time
 * in proportion to their length.
 */

/** Names looked for in one text. Only a text made to keep the worker busy has more. */
const mostNames = 1_000;

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
    let found = 0;
    for (let at = reading.indexOf('@'); at !== -1 && found < mostNames; at = reading.indexOf('@', at + 1)) {
      const names = namesAround(reading, at);
      found += names.length;
      yield* names;
    }
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
