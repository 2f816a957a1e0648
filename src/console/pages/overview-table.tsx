import { isBadEnd } from '../../exports/rules/export-outcome.ts';
import { nameOf, type OverviewLine } from '../readings/overview-filter.ts';
import { Foreign, projectAddress, siteAddress, When } from './parts.tsx';
import { Outcome, Why } from './run-end.tsx';
import type { Viewer } from './viewer.ts';

interface Shown {
  viewer: Viewer;
  lines: readonly OverviewLine[];
  /** Whether there are several organizations. */
  several: boolean;
  /** Milliseconds since the epoch. */
  now: number;
}

/** Sites and projects, a line each. */
export function OverviewTable({ viewer, lines, several, now }: Shown) {
  return (
    <div class="scroll">
      <table class="cards">
        <caption class="unseen">Sites and projects</caption>
        <thead>
          <tr>
            {viewer.mayAct && (
              <th scope="col">
                <span class="unseen">select</span>
              </th>
            )}
            <th scope="col">name</th>
            {several && <th scope="col">organization</th>}
            <th scope="col">now</th>
            <th scope="col">last</th>
            <th scope="col">in service, or complete as of</th>
            <th scope="col">next start</th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <Line viewer={viewer} line={line} several={several} now={now} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Line({ viewer, line, several, now }: { viewer: Viewer; line: OverviewLine; several: boolean; now: number }) {
  const name = nameOf(line);
  const address = line.kind === 'site' ? siteAddress(line.org, name) : projectAddress(line.org, name);
  const box = `${line.kind}-${line.org}-${name}`;
  return (
    <tr>
      {viewer.mayAct && (
        <td class="select">
          <input
            type="checkbox"
            id={box}
            name={line.kind}
            value={`${line.org}/${name}`}
            aria-label={`Select ${line.title}`}
          />
        </td>
      )}
      <th scope="row">
        <a id={`to-${box}`} href={address}>
          <Foreign text={line.title} />
        </a>
        <div class="fine">{line.title === name ? line.kind : `${line.kind} ${name}`}</div>
      </th>
      {several && <td data-name="organization">{line.org}</td>}
      <td data-name="now">
        <NowText line={line} />
      </td>
      <td data-name="last">
        <LastText line={line} now={now} />
      </td>
      <td data-name={line.kind === 'site' ? 'in service' : 'complete as of'}>
        {line.kind === 'project' ? (
          <When at={line.verifiedUpTo} />
        ) : (
          (line.current ?? <span class="quiet">nothing yet</span>)
        )}
      </td>
      <td data-name="next start">{line.paused ? <span class="quiet">paused</span> : <When at={line.nextAt} />}</td>
    </tr>
  );
}

function NowText({ line }: { line: OverviewLine }) {
  const { state } = line;
  const what = line.kind === 'site' ? line.phase : line.running.join(', ');
  const held = line.kind === 'site' && line.held !== null && state !== 'held' ? ', held' : '';
  switch (state) {
    case null:
      return <span class="quiet">unknown</span>;
    case 'idle':
      return <span class="quiet">{`idle${held}`}</span>;
    case 'held':
      return <span class="state">held</span>;
    case 'awaiting-approval':
      return <span class="state wait">{`waits for approval${held}`}</span>;
    case 'unauthorized':
      return <span class="state bad">key refused</span>;
    case 'waiting':
      return <span class="state wait">{`waits for requests: ${what}`}</span>;
    case 'running':
      return <span class="state wait">{`${what?.replaceAll('-', ' ') || 'running'}${held}`}</span>;
  }
}

function LastText({ line, now }: { line: OverviewLine; now: number }) {
  if (line.lastOutcome === null) return <span class="quiet">nothing yet</span>;
  const pass = (line.kind === 'project' && line.lastPass) || '';
  // What ended since the failure need not be one: a pass of another kind, or what a person cancelled.
  const isBad = line.failingSince !== null && isBadEnd(line.lastOutcome, {});
  return (
    <>
      <Outcome outcome={line.lastOutcome} isBad={isBad} pass={pass} />
      {line.lastAt !== null && ` ${ageText(now - Date.parse(line.lastAt))}`}
      <div>
        <When at={line.lastAt} />
      </div>
      {line.lastReason !== null && (
        <div class="fine why">
          <Why reason={line.lastReason} />
        </div>
      )}
      {line.failingSince !== null && line.failingSince !== line.lastAt && (
        <div class="fine">
          failing since <When at={line.failingSince} />
        </div>
      )}
    </>
  );
}

/** `5 min ago`, `3 h ago`, `2 d ago`. */
function ageText(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return 'just now';
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ago` : `${Math.floor(hours / 24)} d ago`;
}
