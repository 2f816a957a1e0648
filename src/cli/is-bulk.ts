import type { Config } from '../config/config.ts';
import type { Selection } from '../operations/status-lines.ts';
import { noSuchThing, usageFailure } from './cli-failure.ts';
import type { BulkFlags } from './bulk-flags.ts';
import { selected } from './selection.ts';

/** Whether many are meant and not the named one. Throws a usage failure unless exactly one way is given. */
export function isBulk<Name extends string | undefined>(
  name: Name,
  { all, org, match }: BulkFlags,
  what: string,
): name is Name & undefined {
  const chosen = all === true || org !== undefined || match !== undefined;
  if (name !== undefined && chosen) throw usageFailure(`name a ${what}, or give --all, --org or --match, not both`);
  if (name === undefined && !chosen) {
    throw usageFailure(`missing required argument '${what}'`, 'or give --all, --org or --match; see --help');
  }
  return chosen;
}

/** Throws a usage failure for a flag that only makes sense for one. */
export function refuseInBulk(flags: Readonly<Record<string, unknown>>): void {
  const [given] = Object.entries(flags).find(([, value]) => value !== undefined && value !== false) ?? [];
  if (given !== undefined) throw usageFailure(`${given} is for one, not together with --all, --org or --match`);
}

/** What the flags leave; throws a failure when a pattern matches nothing. */
export function selectedInBulk<Kind extends keyof Selection>(
  config: Config,
  flags: BulkFlags,
  kind: Kind,
): Selection[Kind] {
  const chosen = selected(config, flags)[kind];
  if (chosen.length > 0 || flags.match === undefined) return chosen;
  throw noSuchThing('NothingMatches', `none of the configured ${kind} matches ${JSON.stringify(flags.match)}`);
}
