import { setMaxListeners } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Faults } from './faults.ts';
import { createOperations, type Operations } from './operations.ts';
import type { SandboxOptions } from './options.ts';
import type { Organization } from './organizations.ts';
import type { LogEntry } from './request-log.ts';
import { close, createApiServer, createStorageServer, listen } from './server.ts';
import { collectStats, maxInAnyWindow, type SandboxStats } from './stats.ts';
import { createWorld } from './world.ts';

export { linkMarker } from './export/links.ts';
export type { Faults } from './faults.ts';
export { plantedMarkers } from './feedback/feedback-data.ts';
export type { EntryChange, NewEntries } from './feedback/project-feedback.ts';
export { optionsFromFlags, type SandboxFlag, SandboxFlagError, type SandboxOptions, sandboxFlags } from './options.ts';
export type { OrganizationOptions, ProjectOptions, SiteOptions } from './organizations.ts';
export type { LogEntry } from './request-log.ts';
export { mostInAnyWindow } from './sliding-log.ts';
export type { OrganizationStats, SandboxStats } from './stats.ts';

/** A running stand-in of the documentation service (service-interface.md, architecture.md). */
export interface Sandbox extends Operations {
  /** Base address of the API, without a slash at its end. */
  url: string;
  storageUrl: string;
  controlUrl: string;
  /** The key of the first organization. */
  apiKey: string;
  organizations: readonly Organization[];
  /** Live view: counts show what is left. */
  faults: Readonly<Faults>;
  /** Throws an Error naming a fault that is unknown or a value that is not allowed. */
  setFaults(changes: Partial<Faults>): void;
  /** All requests in order of arrival; live. */
  log(): readonly LogEntry[];
  stats(): SandboxStats;
  /** The most analytics requests of an organization, or of those selected by `wanted`, in any window (B1). */
  maxInAnyWindow(org: string, wanted?: (entry: LogEntry) => boolean): number;
  /** Every signature and token ever handed out in a link. */
  linkSecrets(): readonly string[];
  /** Closes both ports with their connections and removes the archives. */
  stop(): Promise<void>;
}

/** Starts the sandbox in this process. Rejects when an option is not acceptable or a port is taken. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const stopping = new AbortController();
  // One listener for each request, download and job under way.
  setMaxListeners(0, stopping.signal);
  const folder = await mkdtemp(join(tmpdir(), 'docferry-sandbox-'));
  const servers: ReturnType<typeof createStorageServer>[] = [];
  const stop = async (): Promise<void> => {
    stopping.abort();
    await Promise.all(servers.map(close));
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const world = createWorld(options, folder, stopping.signal);
    const operations = createOperations(world);
    const { host, port, storagePort } = world.settings;
    const storage = createStorageServer(world);
    servers.push(storage);
    const storageUrl = addressOf(host, await listen(storage, host, storagePort));
    const api = createApiServer(world, operations, storageUrl);
    servers.push(api);
    const url = addressOf(host, await listen(api, host, port));
    return {
      ...operations,
      url,
      storageUrl,
      controlUrl: `${url}/control`,
      apiKey: world.organizations[0]?.apiKey ?? '',
      organizations: world.organizations,
      faults: world.faults.values,
      setFaults: (changes) => world.faults.set(changes),
      log: () => world.log.entries,
      stats: () => collectStats(world),
      maxInAnyWindow: (org, wanted) => maxInAnyWindow(world, org, wanted),
      linkSecrets: () => world.links.secrets,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** An address for clients on this machine, even when the sandbox listens on all interfaces. */
function addressOf(host: string, port: number): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '[::1]' : host;
  return `http://${reachable.includes(':') && !reachable.startsWith('[') ? `[${reachable}]` : reachable}:${port}`;
}
