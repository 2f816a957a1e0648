import { describe, expect, it } from 'vitest';
import { changing, StoreNotWritable } from '../../../src/exports/store/bundle-store.ts';

function failing(code: string): Promise<unknown> {
  const error = Object.assign(new Error(`${code}: something about /private/path`), { code });
  return changing('/data/bundles', () => Promise.reject(error)).catch((thrown: unknown) => thrown);
}

describe('what a person must fix (P2)', () => {
  it.each([
    ['ENOSPC', /the disk of the bundle store \/data\/bundles is full \(ENOSPC\): free some space/],
    ['EDQUOT', /the disk of the bundle store \/data\/bundles is full \(EDQUOT\): free some space/],
    ['SQLITE_FULL', /the disk of the bundle store \/data\/bundles is full \(SQLITE_FULL\): free some space/],
    ['EFBIG', /cannot write to the bundle store \/data\/bundles \(EFBIG\): check/],
    ['EROFS', /cannot write to the bundle store \/data\/bundles \(EROFS\): check/],
    ['EXDEV', /lies on several file systems \(EXDEV\): put all of \/data\/bundles on one/],
  ])('%s', async (code, words) => {
    const error = await failing(code);
    expect(error).toBeInstanceOf(StoreNotWritable);
    expect(error).toMatchObject({ systemCode: code, folder: '/data/bundles', message: expect.stringMatching(words) });
  });

  it('leaves other errors as they are', async () => {
    expect(await failing('EBUSY')).toMatchObject({ code: 'EBUSY', name: 'Error' });
  });
});
