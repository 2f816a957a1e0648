import { type Clock, createClock } from './clock.ts';
import { JobBoard } from './export/jobs.ts';
import { Links } from './export/links.ts';
import { ObjectStore } from './export/objects.ts';
import { SiteShelf } from './export/site-shelf.ts';
import { FaultBox, faultFields } from './faults.ts';
import { CursorCodec } from './feedback/cursors.ts';
import { ProjectFeedback } from './feedback/project-feedback.ts';
import { resolveFields } from './field.ts';
import type { SandboxOptions } from './options.ts';
import { defaultOrganizations, type Organization, resolveOrganizations } from './organizations.ts';
import { createRandom, seedOf } from './random.ts';
import { RequestLog } from './request-log.ts';
import { type Settings, settingFields } from './settings.ts';
import { FixedWindow, type RateWindow, SlidingWindow } from './sliding-log.ts';

/** The state of the sandbox, shared by its areas. */
export interface World {
  settings: Settings;
  clock: Clock;
  faults: FaultBox;
  log: RequestLog;
  organizations: readonly Organization[];
  /** By organization. */
  windows: ReadonlyMap<string, RateWindow>;
  /** By project. */
  feedback: ReadonlyMap<string, ProjectFeedback>;
  cursors: CursorCodec;
  sites: SiteShelf;
  jobs: JobBoard;
  objects: ObjectStore;
  links: Links;
  /** Aborted when the sandbox stops. */
  stop: AbortSignal;
}

/** Builds the world from its options. Throws an Error naming an option that is not acceptable. */
export function createWorld(options: SandboxOptions, folder: string, stop: AbortSignal): World {
  const settings = resolveFields(settingFields, options, 'sandbox option');
  const faults = resolveFields(faultFields, options.faults ?? {}, 'sandbox fault');
  const clock = createClock(settings.clockSkewMs);
  const organizations = resolveOrganizations(options.organizations ?? defaultOrganizations, settings);
  const end = settings.now === '' ? clock.serviceNow() : Date.parse(settings.now);
  if (Number.isNaN(end)) throw new Error('sandbox option now must be an ISO 8601 date-time');
  const projects = organizations.flatMap((organization) => organization.projects);
  const box = new FaultBox(faults, createRandom(seedOf(settings.seed, 'faults')));
  const sites = new SiteShelf(organizations, settings.seed);
  const objects = new ObjectStore(folder, settings, clock, stop);
  return {
    settings,
    clock,
    faults: box,
    log: new RequestLog(),
    organizations,
    windows: new Map(organizations.map(({ id }) => [id, createWindow(settings)])),
    feedback: new Map(projects.map((project) => [project.id, new ProjectFeedback(project, settings, end)])),
    cursors: new CursorCodec(settings.seed),
    sites,
    jobs: new JobBoard(settings, objects, clock),
    objects,
    links: new Links(),
    stop,
  };
}

function createWindow({ windowKind, requests, windowMs }: Settings): RateWindow {
  return windowKind === 'fixed' ? new FixedWindow(requests, windowMs) : new SlidingWindow(requests, windowMs);
}
