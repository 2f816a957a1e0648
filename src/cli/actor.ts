import { hostname, userInfo } from 'node:os';
import type { Command } from 'commander';
import { type Actor, actorName, longestName } from '../runs/rules/audit.ts';
import { usageFailure } from './failure.ts';
import { reason } from './flags.ts';

/** The flags of commands whose audit entries the audit keeps. */
export interface ActorFlags {
  as?: string;
  reason?: string | null;
}

export function addActorFlag(command: Command): Command {
  return command.option('--as <name>', 'who does this, for `docferry audit`; default: user@host', readActorName);
}

/** With a reason that nothing but the audit shows. */
export function addActorFlags(command: Command): Command {
  return addActorFlag(command).option('--reason <text>', 'why, for `docferry audit`; readable in Temporal', reason);
}

export function actorOf({ as, reason: why }: ActorFlags): Actor & { who: string } {
  return { who: as ?? userAtHost(), ...(why && { reason: why }) };
}

/** Reads `--as`. */
function readActorName(text: string): string {
  const name = text.trim();
  if (actorName.test(name)) return name;
  throw usageFailure(`--as must be a name of 1 to ${longestName} characters`);
}

function userAtHost(): string {
  const name = `${userName()}@${hostname()}`.replaceAll(/[\p{Cc}\p{Cs}]/gu, '');
  return [...name].slice(0, longestName).join('');
}

/** A container's user may have a number only. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `${process.getuid?.() ?? 'user'}`;
  }
}

/** `--org` and `--match`, which narrow down what is configured. */
export interface SelectionFlags {
  org?: string;
  match?: string;
}

export function addSelectionFlags(command: Command, what: string): Command {
  return command
    .option('--org <org>', `only ${what} of this organization`)
    .option('--match <glob>', `only ${what} whose name matches, e.g. 'docs*.acme.example' or 'acme/*'`);
}

/** Flags of commands that take one name, or many by these. */
export interface BulkFlags extends SelectionFlags, ActorFlags {
  all?: boolean;
  yes?: boolean;
}

/** @param what `sites` or `projects` */
export function addBulkFlags(command: Command, what: string): Command {
  return command
    .option('--all', `all configured ${what} instead of one`)
    .option('--org <org>', `all ${what} of this organization`)
    .option('--match <glob>', `all ${what} whose name matches, e.g. 'docs*.acme.example' or 'acme/*'`)
    .option('--yes', 'with --all, --org or --match: do what is planned without asking');
}
