import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { BundleStoreConfig, Config, FeedbackStoreConfig, PrivacyConfig } from '../../config/config.ts';
import { ConfigError } from '../../config/config-error.ts';
import { openFeedbackStore } from '../../feedback/store/open-feedback-store.ts';
import { feedbackPrivacy } from '../../feedback/privacy/feedback-privacy.ts';
import { openBundleStore } from '../../exports/store/open-bundle-store.ts';
import { explainFailure } from '../explain-failure.ts';
import { bad, type Check, failed, good, warning } from './check.ts';
import { isThere, nearestFolder, whyNotWritable } from './writable.ts';

const giveAccess = 'give the user that runs docferry write access, or name another place in store';

/** The stores as seen from this machine; meaningful where the workers run. */
export async function checkStores({ store: { feedback, bundles }, privacy }: Config): Promise<Check[]> {
  return [await checkFeedback(feedback, privacy), await checkBundles(bundles)];
}

async function checkFeedback(feedback: FeedbackStoreConfig, privacy: PrivacyConfig): Promise<Check> {
  const name = 'feedback-store';
  if (feedback.kind === 'sqlite' && !(await isThere(feedback.file))) return checkFuture(name, feedback.file);
  try {
    // A store that does not exist is not opened, because that would create it.
    const server = feedback.kind === 'postgres' ? await lookAtServer(feedback) : null;
    if (server?.future) return server.future;
    const store = await openFeedbackStore(feedback, feedbackPrivacy(privacy));
    try {
      await store.checkWritable();
      const { entries, rejects } = await store.countUntreated(new Date());
      const detail = `${feedback.place} can be written${server?.detail ?? ''}`;
      const open = feedback.kind === 'sqlite' ? await readableByOthers(feedback.file) : [];
      if (open.length > 0) {
        const who = 'other users of this machine can read the feedback';
        return warning(name, `${detail}; ${who}`, `chmod 600 ${open.join(' ')}`);
      }
      if (entries + rejects === 0) return good(name, detail);
      const plain = `${entries} entries and ${rejects} rejects contain personal data that the privacy settings forbid`;
      return warning(name, `${detail}; ${plain}`, 'restart the workers: they remove it when they start');
    } finally {
      await store.close();
    }
  } catch (error) {
    if (error instanceof ConfigError) return bad(name, error.message, 'set it to the password of store.feedback');
    return failed(name, explainFailure(error));
  }
}

/** Of a database and SQLite's files beside it; a folder that only this user can enter hides them. */
async function readableByOthers(file: string): Promise<string[]> {
  const isOpen = (path: string) =>
    stat(path).then(
      ({ mode }) => (mode & 0o077) !== 0,
      () => false,
    );
  if (!(await isOpen(dirname(file)))) return [];
  const files = [file, `${file}-wal`, `${file}-shm`];
  const open = await Promise.all(files.map(isOpen));
  return files.filter((_, index) => open[index]);
}

/** What kind of server it is; the whole check if the first worker has yet to create the tables. */
async function lookAtServer(
  feedback: FeedbackStoreConfig & { kind: 'postgres' },
): Promise<{ detail: string; future: Check | null }> {
  // SQLite does without its client.
  const { examinePostgres } = await import('../../feedback/store/postgres-store.ts');
  const { state, schema, version, mayCreate } = await examinePostgres(feedback);
  const { place, user, database, tls } = feedback;
  const detail = `: PostgreSQL ${version}, ${tls.mode === 'disable' ? 'without TLS' : `TLS by sslmode ${tls.mode}`}`;
  if (state !== 'empty') return { detail, future: null };
  if (mayCreate) {
    return { detail, future: good('feedback-store', `${place} has no tables yet, and they can be created${detail}`) };
  }
  const fix = `allow it: ALTER DATABASE "${database}" OWNER TO "${user}", or GRANT CREATE ON SCHEMA "${schema}" TO "${user}"`;
  return { detail, future: bad('feedback-store', `${place}: ${user} may not create tables in schema ${schema}`, fix) };
}

async function checkBundles(bundles: BundleStoreConfig): Promise<Check> {
  const name = 'bundle-store';
  // A folder that is not yet a store is not opened, because that would make it one.
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

/** The first worker creates what does not exist yet, if it can create the folder. */
async function checkFuture(name: string, path: string): Promise<Check> {
  const problem = await whyNotWritable(await nearestFolder(path));
  if (problem !== null) return bad(name, `${path} cannot be created: ${problem}`, giveAccess);
  return good(name, `${path} does not exist yet and can be created`);
}
