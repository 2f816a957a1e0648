import type { BundleStore } from '../exports/store/bundle-store.ts';
import { nearestName } from '../rules/text.ts';
import { noSuchThing, usageFailure } from './context.ts';
import { printable } from './terminal/text.ts';

/** The word for the newest kept version that is older than the current one and was in service before it. */
const previous = 'previous';

/**
 * The stored version that a command line names: in full, by enough of its time or digest that only one has it, or as
 * `previous`. Throws `CliFailure`: none (exit code 4), several or too little of one (2).
 */
export async function findVersion(store: BundleStore, domain: string, wanted: string): Promise<string> {
  const names = (await store.inventory(domain)).map(({ version }) => version);
  if (names.includes(wanted)) return wanted;
  if (wanted === previous) return servedBefore(store, domain, names);
  const matches = wanted === '' ? [] : names.filter((name) => name.startsWith(wanted) || digestBegins(name, wanted));
  const [first, ...others] = matches;
  if (first !== undefined && !isEnough(wanted)) throw usageFailure(`${wanted} is ${tooLittle}`, meant(matches));
  if (others.length > 0) throw usageFailure(`${wanted} is the beginning of several versions`, listed(matches));
  if (first !== undefined) return first;
  const nearest = nearestName(wanted, [previous, ...names]);
  const hint = nearest === null ? listed(names) : `did you mean ${nearest}?`;
  throw noSuchThing('NoSuchVersion', `${domain} has no version ${printable(JSON.stringify(wanted), 80)}`, hint);
}

/** Digits alone are a time: meant as a digest, they could name another version. */
const digestBegins = (name: string, wanted: string): boolean =>
  !/^\d+$/.test(wanted) && name.slice(name.indexOf('-') + 1).startsWith(wanted);
const isEnough = (wanted: string): boolean => /^(\d{8}|[0-9a-f]{6})/.test(wanted) && !/^\d{6,7}$/.test(wanted);
const tooLittle = 'too little to name a version: give eight digits of its time, or six characters of its digest';
const meant = (names: readonly string[]): string =>
  names.length === 1 ? `did you mean ${names[0]}?` : `did you mean one of these? ${listed(names)}`;

/** The version in service. Throws a failure with exit code 4 when there is none. */
export async function currentVersion(store: BundleStore, domain: string): Promise<string> {
  const current = await store.current(domain);
  if (current) return current.version;
  throw noSuchThing('NoSuchVersion', `${domain} has no current version`, 'name a version of `export versions`');
}

/** Never one that a check refused, that has some pages only, or that waited behind a hold: readers never had it. */
async function servedBefore(store: BundleStore, domain: string, names: readonly string[]): Promise<string> {
  const version = await currentVersion(store, domain);
  const { before = [] } = (await store.current(domain)) ?? {};
  const served = before.filter((one) => one < version && names.includes(one));
  if (served.length > 0) return versionBefore(served, domain, version);
  throw noSuchThing('NoSuchVersion', `no version of ${domain} was in service before ${version}`, listed(names));
}

/** The newest of these versions that is older. Throws a failure with exit code 4 when there is none. */
export function versionBefore(names: readonly string[], domain: string, version: string): string {
  const before = names
    .filter((name) => name < version)
    .sort()
    .at(-1);
  if (before !== undefined) return before;
  throw noSuchThing('NoSuchVersion', `there is no version of ${domain} before ${version}`, listed(names));
}

function listed(names: readonly string[]): string {
  if (names.length === 0) return 'none of its versions are published';
  return `published: ${names.slice(0, 10).join(', ')}${names.length > 10 ? ' …' : ''}`;
}
