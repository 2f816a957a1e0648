import { describe, expect, it } from 'vitest';
import { Downloads, downloadFormats, mostInFile } from '../../../src/console/routes/feedback-download.ts';
import type { FeedbackRecord } from '../../../src/feedback/files/feedback-record.ts';
import { record } from '../../tools/console/fake-search.ts';

const { format } = downloadFormats.jsonl;
const forever = new AbortController().signal;

/** Records without end, which count how many were read and whether the reading has ended. */
function endless(text = 'x'.repeat(1_000)) {
  const source = { read: 0, ended: false };
  async function* records(): AsyncGenerator<FeedbackRecord, void, undefined> {
    try {
      for (;;) {
        source.read += 1;
        yield record({ comment: text });
      }
    } finally {
      source.ended = true;
    }
  }
  return { source, records: records() };
}

describe('files of feedback', () => {
  it('are read as fast as they are taken, and no further when the browser leaves', async () => {
    const { source, records } = endless();
    const file = await new Downloads(forever).begin(records, format);
    const afterFirst = source.read;
    const reader = file.getReader();
    await reader.read();
    await reader.read();
    expect(afterFirst).toBeLessThan(200);
    expect(source.read).toBeLessThan(3 * afterFirst);
    await reader.cancel();
    expect(source.ended).toBe(true);
  });

  it('hold a bounded number of entries', async () => {
    const { source, records } = endless('');
    const file = await new Downloads(forever).begin(records, format);
    let lines = 0;
    for await (const piece of file) lines += Buffer.from(piece).filter((byte) => byte === 10).length;
    expect([lines, source.read, source.ended]).toEqual([mostInFile, mostInFile, true]);
  });

  it('are four at a time: the fifth is refused until one has ended', async () => {
    const downloads = new Downloads(forever);
    const files = await Promise.all(Array.from({ length: 4 }, () => downloads.begin(endless().records, format)));
    await expect(downloads.begin(endless().records, format)).rejects.toMatchObject({ code: 'Busy' });
    await files[0]?.cancel();
    await (await downloads.begin(endless().records, format)).cancel();
    const failing = async function* (): AsyncGenerator<FeedbackRecord, void, undefined> {
      yield* [];
      throw new Error('away');
    };
    for (let tries = 0; tries < 5; tries += 1) await expect(downloads.begin(failing(), format)).rejects.toThrow('away');
  });

  it('end when the console stops', async () => {
    const closing = new AbortController();
    const { source, records } = endless();
    const reader = (await new Downloads(closing.signal).begin(records, format)).getReader();
    await reader.read();
    closing.abort();
    await expect(reader.read()).rejects.toThrow();
    await expect.poll(() => source.ended).toBe(true);
  });
});
