import { Context } from '@temporalio/activity';
import { ArchiveTooLarge, DownloadFailed, LinkExpired, NoRoom } from '../exports/fetch/download-errors.ts';
import { LinkRefused } from '../exports/fetch/link-policy.ts';
import { PointerMoved } from '../exports/store/bundle-store.ts';
import { BrowserUnusable } from '../exports/verify/browser-unusable.ts';
import { NotFound } from '../service/errors.ts';
import { isTemporalFailure, permanent, transient } from './history-safe-failures.ts';
import { serviceFailure } from './service-failures.ts';
import { storeFailure } from './store-failures.ts';

/** Like `bundleFailure`, for steps that move the pointer. */
export function publishFailure(error: unknown, domain: string): Error {
  if (error instanceof PointerMoved) {
    return permanent('Superseded', `another run has published ${domain} meanwhile; its version stays current`);
  }
  return bundleFailure(error);
}

/** The failure a workflow sees for an error on the way from a job to a published version. */
export function bundleFailure(error: unknown): Error {
  if (isTemporalFailure(error)) return error;
  if (error instanceof BrowserUnusable) return permanent('InvalidInput', `${error.message}: ${error.hint}`);
  // Known when it was polled, it has vanished before its bundle was asked for: the workflow starts another (E2).
  if (error instanceof NotFound) return permanent('JobFailed', 'the service no longer knows the job');
  if (error instanceof LinkRefused) return permanent('LinkRefused', error.message);
  if (error instanceof ArchiveTooLarge) return permanent('ArchiveTooLarge', error.message);
  if (error instanceof NoRoom) return transient('StoreUnavailable', error.message);
  if (error instanceof LinkExpired) return transient('DownloadFailed', error.message);
  if (error instanceof DownloadFailed) {
    const { message, retryable, retryAfterMs } = error;
    if (!retryable) return permanent('DownloadFailed', message);
    return transient('DownloadFailed', message, retryAfterMs ?? undefined);
  }
  return storeFailure(error) ?? serviceFailure(error, Context.current().info.attempt);
}
