import { describe, expect, it } from 'vitest';
import { Downloads, downloadFormats, mostInFile } from '../../../src/console/routes/feedback-routes.tsx';
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
    const file = await new Downloads(forever).begin('ada', records, format);
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
    const file = await new Downloads(forever).begin('ada', records, format);
    let lines = 0;
    for await (const piece of file) lines += Buffer.from(piece).filter((byte) => byte === 10).length;
    expect([lines, source.read, source.ended]).toEqual([mostInFile, mostInFile, true]);
  });

  it('leave a turn to others between two pieces, even of a store and a browser that never wait', async () => {
    const file = await new Downloads(forever).begin('ada', endless().records, format);
    let turns = 0;
    let isOver = false;
    const others = () => {
      turns += 1;
      if (!isOver) setImmediate(others);
    };
    others();
    const seen = new Set<number>();
    const reader = file.getReader();
    for (let piece = 0; piece < 50; piece += 1) {
      await reader.read();
      seen.add(turns);
    }
    isOver = true;
    await reader.cancel();
    expect(seen.size).toBeGreaterThan(40);
  });

  it('are six at a time, two of a login: the next is refused until one has ended', async () => {
    const downloads = new Downloads(forever);
    const begin = (login: string, records = endless().records) => downloads.begin(login, records, format);
    const [first] = await Promise.all(['ada', 'ada', 'bob', 'bob', 'eve'].map((login) => begin(login)));
    await expect(begin('ada')).rejects.toMatchObject({ code: 'Busy', message: 'you are loading 2 files already' });
    const last = await begin('eve');
    await expect(begin('joe')).rejects.toMatchObject({ code: 'Busy', message: 'others are loading files' });
    await first?.cancel();
    await (await begin('joe')).cancel();
    await (await begin('ada')).cancel();
    await last.cancel();
    const failing = async function* (): AsyncGenerator<FeedbackRecord, void, undefined> {
      yield* [];
      throw new Error('away');
    };
    for (let tries = 0; tries < 5; tries += 1) await expect(begin('ada', failing())).rejects.toThrow('away');
  });

  it('end when the console stops', async () => {
    const closing = new AbortController();
    const { source, records } = endless();
    const reader = (await new Downloads(closing.signal).begin('ada', records, format)).getReader();
    await reader.read();
    closing.abort();
    await expect(reader.read()).rejects.toThrow();
    await expect.poll(() => source.ended).toBe(true);
  });
});
