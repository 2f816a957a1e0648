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
