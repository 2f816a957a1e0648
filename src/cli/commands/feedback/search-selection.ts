import type { Config } from '../../../config/config.ts';
import { parseDuration } from '../../../config/durations.ts';
import type { EntrySelection } from '../../../feedback/search/feedback-search.ts';
import { isoInstant } from '../../../rules/iso-instant.ts';
import { noSuchThing, usageFailure } from '../../cli-failure.ts';
import { findProject } from '../../find-configured.ts';
import { recordFilter } from '../../record-filter.ts';
import { selected } from '../../selection.ts';
import type { SelectionFlags } from '../../selection-flags.ts';

export interface SearchFlags extends SelectionFlags {
  project?: string;
  source?: string;
  status?: string;
  helpful?: 'yes' | 'no' | 'none';
  document?: string;
  since?: string;
  until?: string;
  newSince?: string;
}

/** What the command line asks to find. Throws a usage failure, or that there is no such project. */
export function searchSelection(
  config: Config,
  words: readonly string[],
  flags: SearchFlags,
  now: Date,
): EntrySelection {
  const { org, match, project, source, status, helpful, document, since, until, newSince } = flags;
  const { sources, statuses } = recordFilter({
    ...(source !== undefined && { source }),
    ...(status !== undefined && { status }),
  });
  const text = words.join(' ').trim();
  return {
    ...(text !== '' && { words: text }),
    ...projectsOf(config, { org, match, project }),
    ...(sources !== undefined && { sources }),
    ...(statuses !== undefined && { statuses }),
    ...(helpful !== undefined && { helpful }),
    ...(document !== undefined && { document }),
    ...(since !== undefined && { since: moment('--since', since, now) }),
    ...(until !== undefined && { until: moment('--until', until, now) }),
    ...(newSince !== undefined && { firstSeenAfter: moment('--new-since', newSince, now) }),
  };
}

/** Without any of these everything in the store, also of projects that are no longer configured. */
function projectsOf(
  config: Config,
  { org, match, project }: { [Flag in 'org' | 'match' | 'project']: string | undefined },
): Pick<EntrySelection, 'projects'> {
  if (project !== undefined) {
    if (org !== undefined || match !== undefined)
      throw usageFailure('--project cannot be combined with --org or --match');
    return { projects: [findProject(config, project).project.id] };
  }
  if (org === undefined && match === undefined) return {};
  const { projects } = selected(config, { ...(org !== undefined && { org }), ...(match !== undefined && { match }) });
  if (projects.length > 0) return { projects: projects.map((found) => found.project) };
  throw noSuchThing('UnknownProject', 'no configured project matches', 'see `docferry feedback status`');
}

/** A date, or how long ago. */
function moment(flag: string, text: string, now: Date): string {
  const ago = parseDuration(text);
  const ms = ago === null ? isoInstant(text) : now.getTime() - ago;
  if (ms !== null) return new Date(ms).toISOString();
  throw usageFailure(
    `${flag} is ${JSON.stringify(text)}: it must be an ISO 8601 date or date-time, or how long ago: 30d`,
  );
}
