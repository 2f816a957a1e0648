import { setTimeout as sleep } from 'node:timers/promises';
import { clockTime } from '../../../rules/details-text.ts';
import { counted } from '../../../rules/quantities.ts';
import type { ProjectLine, SiteLine } from '../../../operations/status-lines.ts';
import { fittingLines } from '../../terminal/fitting-lines.ts';
import type { Step } from '../../terminal/live-lines.ts';
import type { Output, Screen } from '../../terminal/output.ts';
import { onInterrupt } from '../../terminal/signals.ts';
import { type Look, statusText, totalText } from './status-text.ts';

const lookEveryMs = 2_000;
const usualRows = 24;
/** Headers, empty lines and totals around the lines. */
const otherRows = 10;

/**
 * Looks again and again until Ctrl-C, or for a time: on a terminal one screen, repainted, elsewhere a line for each site and
 * project that has changed. Returns the last look.
 */
export async function watchStatus(output: Output, look: () => Promise<Look>, forMs: number): Promise<Look> {
  const interrupt = onInterrupt();
  const live = await output.startLive();
  const endsAt = Date.now() + forMs;
  let before = new Map<string, string>();
  try {
    for (;;) {
      const found = await look();
      const now = lineTexts(found);
      live.show('status', stepOf(found, changesSince(before, now), output.surfaceOfNotes));
      before = now;
      if (Date.now() + lookEveryMs > endsAt) return found;
      await sleep(lookEveryMs, undefined, { signal: interrupt.signal }).catch(() => {});
      if (interrupt.signal.aborted) return found;
    }
  } finally {
    live.end();
    interrupt.dispose();
  }
}

function stepOf(found: Look, changes: readonly string[], surface: Screen): Step {
  const { paint } = surface;
  const totals = `${totalText('site', found.totals.sites)}; ${totalText('project', found.totals.projects)}`;
  const away = found.unavailable.map(({ message, unknown }) => paint.yellow(`${message}: ${unknown} is unknown`));
  const rows = Number.isFinite(surface.rows) ? surface.rows : usualRows;
  const text = statusText(fitted(found, rows), Date.now(), surface);
  // The line above has the time, the one below the cursor; where it is narrow a site may take several lines.
  const fitting = { ...surface, rows: rows - 2 - away.length };
  const screen = fittingLines(text, fitting, (count) => counted(count, 'more line'));
  return {
    key: changes.length === 0 ? 'unchanged' : `${totals}\n${changes.join('\n')}`,
    line: [totals, ...away, ...changes].join('\n'),
    text: [paint.dim(`at ${clockTime(Date.now())}`), ...away, screen].join('\n'),
  };
}

/** As much as fits the screen: what fails first, then what runs or waits. */
function fitted(found: Look, rows: number): Look {
  const room = Math.max(4, rows - otherRows - found.unavailable.length);
  const sites = byUrgency(found.sites);
  const projects = byUrgency(found.projects);
  const forSites = Math.max(Math.ceil(room / 2), room - projects.length);
  const shownSites = sites.slice(0, forSites);
  return { ...found, sites: shownSites, projects: projects.slice(0, room - shownSites.length) };
}

function byUrgency<Line extends SiteLine | ProjectLine>(lines: readonly Line[]): Line[] {
  const rank = ({ failingSince, state }: Line) => (failingSince !== null ? 0 : state === 'idle' ? 2 : 1);
  return [...lines].sort((a, b) => rank(a) - rank(b));
}

/** The line of each site and project, by its name. */
function lineTexts({ sites, projects }: Look): Map<string, string> {
  const text = (state: string | null, outcome: string | null, failing: string | null) =>
    [
      state ?? 'state unknown',
      outcome === null ? '' : `last ${outcome}`,
      failing === null ? '' : `failing since ${failing}`,
    ]
      .filter((part) => part !== '')
      .join(', ');
  return new Map([
    ...sites.map(({ org, domain, phase, state, lastOutcome, failingSince }): [string, string] => [
      `${org}/${domain}`,
      text(phase ?? state, lastOutcome, failingSince),
    ]),
    ...projects.map(({ org, project, state, lastPass, lastOutcome, failingSince }): [string, string] => [
      `${org}/${project}`,
      text(state, lastPass && `${lastPass} ${lastOutcome}`, failingSince),
    ]),
  ]);
}

function changesSince(before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): string[] {
  return [...now].flatMap(([name, text]) => (before.get(name) === text ? [] : [`  ${name}: ${text}`]));
}
