import { FeedbackStoreUnavailable } from './feedback-store-unavailable.ts';
import { errorCode } from './sqlite-dialect.ts';

const elsewhere = 'or name another file in store.feedback';
const giveAccess = `Give the user that runs docferry write access to the file and its folder, ${elsewhere}.`;

/** By the beginning of the error's code: what is wrong, and what to do about it. */
const problems: readonly (readonly [code: string, problem: string, fix: string])[] = [
  ['SQLITE_NOTADB', 'the file is not a SQLite database', `Move it away, ${elsewhere}.`],
  ['SQLITE_READONLY', 'it cannot be written', giveAccess],
  ['SQLITE_CANTOPEN', 'it cannot be opened for writing', giveAccess],
  ['SQLITE_PERM', 'it cannot be written', giveAccess],
  ['EACCES', 'its folder cannot be made or read', giveAccess],
  ['EPERM', 'its folder cannot be made or read', giveAccess],
  ['EROFS', 'it is on a read-only file system', giveAccess],
  ['ENOENT', 'its folder cannot be made', `Make the folder, ${elsewhere}.`],
  ['ENOTDIR', 'a part of its path is a file, not a folder', `Correct the path in store.feedback.`],
  ['EEXIST', 'a part of its path is a file, not a folder', `Correct the path in store.feedback.`],
  ['SQLITE_FULL', 'the disk is full', 'Free some space and try again: nothing half-written was kept.'],
  ['ENOSPC', 'the disk is full', 'Free some space and try again: nothing half-written was kept.'],
  [
    'SQLITE_IOERR',
    'reading or writing it failed',
    'Check the disk; the file has to be on a local one, not a network share.',
  ],
  ['SQLITE_CORRUPT', 'it is damaged', 'Restore a backup, or move it away and run a sweep.'],
  [
    'SQLITE_BUSY',
    'another program keeps it locked',
    'End the transaction that a database browser or script left open.',
  ],
];

/** An error of the file or its folder in words for a person; any other error as it is. Never carries content. */
export function explainSqliteProblem(file: string, error: unknown): unknown {
  const code = errorCode(error);
  const known = problems.find(([start]) => code.startsWith(start));
  if (known === undefined) return error;
  const [, problem, fix] = known;
  return new FeedbackStoreUnavailable(file, `${problem} (${code})`, fix, { cause: error });
}
