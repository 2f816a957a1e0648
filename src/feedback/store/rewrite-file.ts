import { once } from 'node:events';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';

/** How long the thread waits for another connection's lock, in milliseconds. */
const longestWaitMs = 10_000;

/**
 * What the thread does, in JavaScript that needs no build. `optimize` writes the index of words anew: it keeps beginnings of
 * removed words, by which it tells its pages apart. A reader in the way of the checkpoint is not waited for.
 */
const program = `
const { parentPort, workerData } = require('node:worker_threads');
const database = new (require(workerData.library).DatabaseSync)(workerData.file, { timeout: workerData.longestWaitMs });
database.exec(\`pragma fullfsync = ON;
  pragma secure_delete = ON;
  pragma cache_size = -16000;
  begin immediate;
  insert into search_words (search_words) values ('optimize');
  insert into search_words (search_words, rank) values ('secure-delete', 1);
  commit;
  vacuum\`);
database.prepare('update search_progress set cleaned_at = ?').run(workerData.at);
database.exec('pragma busy_timeout = 0');
const { busy } = database.prepare('pragma wal_checkpoint(truncate)').get();
database.close();
parentPort.postMessage(busy);
`;

/**
 * Rewrites a feedback database of SQLite, so that nothing of what was removed is left in the file or its log:
 * `secure_delete` overwrites what is removed, but not the copies that SQLite leaves behind when it moves rows to another
 * page of its tree. False when a reader keeps the log from being emptied. For a million entries that takes seconds, in
 * a thread, so that this process goes on with everything but writing. Throws what SQLite throws.
 */
export async function rewriteFile(file: string): Promise<boolean> {
  const library = createRequire(import.meta.url).resolve('@photostructure/sqlite');
  const workerData = { library, file, longestWaitMs, at: new Date().toISOString() };
  const [busy] = await once(new Worker(program, { eval: true, workerData }), 'message');
  return busy === 0;
}
