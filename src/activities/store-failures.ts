import type { ApplicationFailure } from '@temporalio/common';
import { NoSuchVersion } from '../exports/store/bundle-store.ts';
import {
  RecordDamaged,
  SigningKeyUnusable,
  StagedChanged,
  StoreBusy,
  StoreNotWritable,
  StoreRefused,
  StoreUnreachable,
  VersionConflict,
  VersionDamaged,
} from '../exports/store/store-errors.ts';
import { permanent, transient } from './history-safe-failures.ts';

/**
 * The failure a workflow sees for an error of the bundle store; null for other errors. What only a person can fix is
 * final; a full disk, credentials about to be renewed and a store that is down are transient.
 */
export function storeFailure(error: unknown): ApplicationFailure | null {
  if (error instanceof VersionConflict || error instanceof StagedChanged || error instanceof VersionDamaged) {
    return permanent('PublishRefused', error.message);
  }
  if (error instanceof SigningKeyUnusable || error instanceof RecordDamaged) {
    return permanent('StoreUnavailable', `${error.message}: ${error.hint}`);
  }
  if (error instanceof NoSuchVersion) return permanent('NotFound', error.message);
  if (error instanceof StoreRefused) {
    const message = `${error.message}: ${error.hint}`;
    return error.mayPass ? transient('StoreUnavailable', message) : permanent('StoreUnavailable', message);
  }
  if (error instanceof StoreUnreachable || error instanceof StoreNotWritable || error instanceof StoreBusy) {
    return transient('StoreUnavailable', error.message);
  }
  return null;
}
