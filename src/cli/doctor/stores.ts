import { join } from 'node:path';
import type { BundleStoreConfig, StoreConfig } from '../../config/config.ts';
import { FeedbackStoreUnavailable } from '../../feedback/feedback-store-unavailable.ts';
import { openSqliteFeedbackStore } from '../../feedback/sqlite-store.ts';
import { openBundleStore } from '../../open-bundle-store.ts';
import { explainFailure } from '../failure.ts';
import { bad, type Check, failed, good } from './check.ts';
import { isThere, nearestFolder, whyNotWritable } from './writable.ts';

const giveAccess = 'give the user that runs docferry write access, or name another place in store';

/** The stores as this machine has them: to be looked at where the workers run. */
export async function checkStores({ feedback, bundles }: StoreConfig): Promise<Check[]> {
  return [await checkFeedback(feedback.file), await checkBundles(bundles)];
}

async function checkFeedback(file: string): Promise<Check> {
  const name = 'feedback-store';
  if (!(await isThere(file))) return checkFuture(name, file);
  try {
    const store = await openSqliteFeedbackStore(file);
    try {
      await store.checkWritable();
    } finally {
      await store.close();
    }
    return good(name, `${file} can be written`);
  } catch (error) {
    if (!(error instanceof FeedbackStoreUnavailable)) return failed(name, explainFailure(error));
    return bad(name, error.message.replace(` ${error.fix}`, ''), error.fix);
  }
}

async function checkBundles(bundles: BundleStoreConfig): Promise<Check> {
  const name = 'bundle-store';
  // Only a folder that is a store already is opened: looking must not make it.
  if (bundles.kind === 'directory' && !(await isThere(join(bundles.directory, '.store.json')))) {
    return checkFuture(name, bundles.directory);
  }
  try {
    const store = await openBundleStore(bundles);
    await store.checkWritable();
    return good(name, `${store.place} can be written`);
  } catch (error) {
    const { message, hint } = explainFailure(error);
    return bad(name, message, hint ?? giveAccess);
  }
}

/** What is not there yet is made by the first worker, if its folder can be. */
async function checkFuture(name: string, path: string): Promise<Check> {
  const problem = await whyNotWritable(await nearestFolder(path));
  if (problem !== null) return bad(name, `${path} cannot be made: ${problem}`, giveAccess);
  return good(name, `${path} is not there yet and can be made`);
}
