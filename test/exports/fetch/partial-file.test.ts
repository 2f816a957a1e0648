import { randomBytes } from 'node:crypto';
import { appendFile, open, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteSpans, beginJournal, journalLine, readJournal } from '../../../src/exports/fetch/partial-file.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';

const totalLength = 40;
const step = fc.record({
  add: fc.boolean(),
  start: fc.integer({ min: 0, max: totalLength }),
  length: fc.integer({ min: 0, max: 15 }),
});

describe('ByteSpans', () => {
  it('equals a plain set of bytes, in spans that do not touch', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const spans = new ByteSpans();
        const bytes = Array.from({ length: totalLength }, () => false);
        for (const { add, start, length } of steps) {
          const span = { start, end: Math.min(totalLength, start + length) };
          if (add) spans.add(span);
          else spans.remove(span);
          bytes.fill(add, span.start, span.end);
        }
        const held = bytes.map((_, at) => spans.spans.some(({ start, end }) => start <= at && at < end));
        expect(held).toEqual(bytes);
        expect(spans.count).toBe(bytes.filter(Boolean).length);
        expect(spans.prefix).toBe(bytes.includes(false) ? bytes.indexOf(false) : totalLength);
        const gaps = bytes.map((_, at) => spans.gaps(totalLength).some(({ start, end }) => start <= at && at < end));
        expect(gaps).toEqual(bytes.map((byte) => !byte));
        for (const [index, { start, end }] of spans.spans.entries()) {
          expect(start).toBeLessThan(end);
          expect(start).toBeGreaterThan(spans.spans[index - 1]?.end ?? -1);
        }
      }),
    );
  });
});

const identity = { etag: '"a"', total: 1_000 };
const bytes = randomBytes(1_000);

/** A file with these bytes and a journal of two runs, the first with two checkpoints. */
async function written(content = bytes) {
  const folder = await tempFolder();
  const [file, journal] = [join(folder, 'archive'), join(folder, 'archive.resume')];
  await writeFile(file, content);
  const begun = await beginJournal(journal, identity, []);
  for (const [start, end] of [
    [0, 100],
    [600, 700],
    [0, 300],
  ] as const) {
    await begun.write(journalLine({ start, end, crc: crc32(bytes.subarray(start, end)) }));
  }
  await begun.close();
  return { file, journal };
}

async function recovered({ file, journal }: { file: string; journal: string }) {
  const handle = await open(file);
  try {
    return await readJournal(journal, handle);
  } finally {
    await handle.close();
  }
}

const spans = (found: Awaited<ReturnType<typeof readJournal>>) => found?.proved.map(({ start, end }) => [start, end]);

describe('the journal of a download', () => {
  it('proves what was written', async () => {
    const found = await recovered(await written());
    expect(found?.identity).toEqual(identity);
    expect(spans(found)).toEqual([
      [0, 300],
      [600, 700],
    ]);
  });

  it('does not believe bytes that never reached the disk, but believes those before them', async () => {
    const lost = Buffer.from(bytes);
    lost.fill(0, 150, 300);
    expect(spans(await recovered(await written(lost)))).toEqual([
      [0, 100],
      [600, 700],
    ]);
    const short = bytes.subarray(0, 650);
    expect(spans(await recovered(await written(short)))).toEqual([[0, 300]]);
  });

  it('skips lines that were cut or are impossible', async () => {
    const place = await written();
    await appendFile(place.journal, '700 8\n-1 5 00000000\n900 1100 00000000\n5 5 00000000\n700 80');
    expect(spans(await recovered(place))).toHaveLength(2);
  });

  it.each(['', 'null', '{}', '{"etag":5,"total":9}', '{"etag":"\\"a\\"","total":0}', '{"etag":"\\"a\\"'])(
    'proves nothing without an identity: %j',
    async (head) => {
      const place = await written();
      const [, ...lines] = (await readFile(place.journal, 'utf8')).split('\n');
      await writeFile(place.journal, [head, ...lines].join('\n'));
      expect(await recovered(place)).toBeNull();
    },
  );

  it('begins again with what was proved', async () => {
    const place = await written();
    const found = await recovered(place);
    const again = await beginJournal(place.journal, identity, found?.proved ?? []);
    await again.close();
    expect(await recovered(place)).toEqual(found);
  });

  it('is begun by several attempts at once, as when a stopped process goes on', async () => {
    const place = await written();
    const found = await recovered(place);
    const attempts = Array.from({ length: 20 }, () => beginJournal(place.journal, identity, found?.proved ?? []));
    for (const begun of await Promise.all(attempts)) await begun.close();
    expect(await recovered(place)).toEqual(found);
    expect((await readdir(dirname(place.journal))).sort()).toEqual(['archive', 'archive.resume']);
  });
});
