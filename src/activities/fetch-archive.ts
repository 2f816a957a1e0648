import { dirname } from 'node:path';
import { log } from '@temporalio/activity';
import { type DownloadResult, download } from '../exports/fetch/download.ts';
import { TransferSpeed } from '../exports/fetch/transfer-speed.ts';
import { changing } from '../exports/store/store-errors.ts';
import { type ActivityDependencies, organizationOf, type Site } from './dependencies.ts';

/** What a heartbeat shows of a download: never the link. */
export interface FetchDetails {
  phase: string;
  linksRequested: number;
  offset: number;
  /** 0 when unknown. */
  total: number;
  /** 0 when unknown. */
  bytesPerSecond: number;
  /** How long the attempts have downloaded so far, in milliseconds: nothing else counts against the site's limit. */
  downloadMs: number;
  /** Of what an attempt staged (`staged-seal.ts`); empty before that. */
  seal: string;
}

export const noFetchYet: FetchDetails = {
  phase: 'fetching',
  linksRequested: 0,
  offset: 0,
  total: 0,
  bytesPerSecond: 0,
  downloadMs: 0,
  seal: '',
};

const watchEveryMs = 1_000;

export interface Fetch {
  input: { org: string; domain: string; jobId: string };
  site: Site;
  /** Where the archive goes. */
  file: string;
  /** Shown in heartbeats, and kept from attempt to attempt. */
  details: FetchDetails;
  signal: AbortSignal;
}

/** Downloads a job's archive, asking for links itself and reporting progress. Throws what `download` and the service throw. */
export async function fetchArchive(deps: ActivityDependencies, fetch: Fetch): Promise<DownloadResult> {
  const { input, site, file, details, signal } = fetch;
  const { service } = organizationOf(deps, input.org);
  details.phase = 'fetching';
  const timeLimitMs = Math.max(0, site.downloadTimeoutMs - details.downloadMs);
  const watch = watchDownload(details);
  try {
    const work = () =>
      download(
        async () => {
          let serviceNowMs: number | null = null;
          const onDate = (ms: number) => {
            serviceNowMs = ms;
          };
          const link = await service.createBundleLink(input.jobId, { signal, onDate });
          details.linksRequested += 1;
          return { href: link.url.href, sizeBytes: link.sizeBytes, expiresAtMs: link.expiresAtMs, serviceNowMs };
        },
        {
          file,
          policy: deps.linkPolicy,
          maxBytes: site.maxBytes,
          connections: site.connections,
          timeLimitMs,
          signal,
          onProgress: ({ offset, total }) => {
            details.offset = offset;
            details.total = total ?? 0;
          },
        },
      );
    // Disk errors are failures of the store, not of the service.
    const labels = { org: input.org };
    const downloaded = await deps.metrics.timed('docferry_download_seconds', labels, () =>
      changing(dirname(file), work),
    );
    deps.metrics.add('docferry_download_bytes_total', labels, downloaded.bytes);
    noteAnnounced(input.domain, downloaded);
    return downloaded;
  } finally {
    watch.end();
  }
}

/** Logs a wrong announced length. What counts is the actual length, and the format shows whether it is complete. */
function noteAnnounced(domain: string, { bytes, announcedBytes }: DownloadResult): void {
  if (announcedBytes === null || announcedBytes === bytes) return;
  log.warn('the service announced another length than the archive has', { domain, announcedBytes, bytes });
}

/**
 * Keeps speed and time spent in the heartbeat's details; the workflow is not told, since each message costs events
 * (decisions/0003).
 */
function watchDownload(details: FetchDetails): { end(): void } {
  const speed = new TransferSpeed();
  const { downloadMs: before } = details;
  const begun = performance.now();
  const addTime = () => {
    details.downloadMs = before + Math.round(performance.now() - begun);
  };
  const timer = setInterval(() => {
    addTime();
    speed.add(Date.now(), details.offset);
    details.bytesPerSecond = Math.round(speed.bytesPerSecond ?? 0);
  }, watchEveryMs);
  return {
    end: () => {
      clearInterval(timer);
      addTime();
    },
  };
}
