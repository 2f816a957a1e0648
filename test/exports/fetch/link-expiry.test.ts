import { describe, expect, it } from 'vitest';
import { expiryOf } from '../../../src/exports/fetch/presigned-links.ts';

const moment = Date.UTC(2026, 10, 21, 4, 2, 0);

describe('when a link expires by its own query', () => {
  it.each([
    ['X-Amz-Date=20261121T040100Z&X-Amz-Expires=60', moment],
    ['x-amz-date=20261121T040100Z&x-amz-expires=60', moment],
    ['X-Goog-Date=20261121T040100Z&X-Goog-Expires=60&X-Goog-Signature=s', moment],
    [`Expires=${moment / 1000}&Signature=s&Key-Pair-Id=k`, moment],
    ['sv=2022-11-02&se=2026-11-21T04%3A02%3A00Z&sig=s', moment],
    ['se=2026-11-21T04%3A02%3A00Z', null],
    ['X-Amz-Expires=60', null],
    ['X-Amz-Date=yesterday&X-Amz-Expires=60', null],
    ['X-Amz-Date=20261121T040100Z&X-Amz-Expires=-60', null],
    ['X-Amz-Date=20269921T040100Z&X-Amz-Expires=60', null],
    ['Expires=soon', null],
    ['', null],
  ])('%s', (query, expected) => {
    expect(expiryOf(`https://store.example/bundle?${query}`)).toBe(expected);
  });

  it('is unknown for text that is no link', () => {
    expect(expiryOf('not a link')).toBeNull();
  });
});
