import { describe, expect, it } from 'vitest';
import { FeedbackStoreUnavailable } from '../../../src/feedback/store/feedback-store-unavailable.ts';
import { explainSqliteProblem } from '../../../src/feedback/store/sqlite-store.ts';
import { SqliteError } from '../../../src/sqlite.ts';

describe('explainSqliteProblem', () => {
  it.each([
    ['SQLITE_FULL', 'is on a disk that is full'],
    ['SQLITE_READONLY_DBMOVED', 'cannot be read or written'],
    ['SQLITE_IOERR_WRITE', 'reading or writing it failed'],
    ['SQLITE_CORRUPT_INDEX', 'it is damaged'],
    ['SQLITE_BUSY', 'another program keeps it locked'],
  ])('puts %s into words, with the file and what to do', (code, words) => {
    const cause = new SqliteError('as SQLite says it', code);
    const explained = explainSqliteProblem('/data/feedback.db', cause);
    expect(explained).toBeInstanceOf(FeedbackStoreUnavailable);
    expect(explained).toMatchObject({ place: '/data/feedback.db', cause });
    const { message, hint } = explained as FeedbackStoreUnavailable;
    expect(message).toBe(`feedback store /data/feedback.db: ${message.match(/: (.*) \(/)?.[1]} (${code}). ${hint}`);
    expect(message).toContain(words);
  });

  it('leaves every other error alone', () => {
    const error = new SqliteError('UNIQUE constraint failed', 'SQLITE_CONSTRAINT_UNIQUE');
    expect(explainSqliteProblem('/data/feedback.db', error)).toBe(error);
    expect(explainSqliteProblem('/data/feedback.db', 'text')).toBe('text');
  });
});
