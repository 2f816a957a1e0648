import { hash } from 'node:crypto';
import { setImmediate as letOthersRun } from 'node:timers/promises';
import { diffArrays } from 'diff';
import { Parser } from 'htmlparser2';
import { type ArchiveEntry, type EntryAnswer, withByteFile } from '../archive/archive-reader.ts';
import { checkPath } from '../archive/check-entry.ts';
import { readers } from '../archive/open-archive.ts';
import { type BundleStore, type Manifest, VersionDamaged, type Work } from '../store/bundle-store.ts';
import { type ComparedVersion, changedPages, compareManifests, type ManifestDiff } from '../store/compare-manifests.ts';
import { deepestElement, TooDeep } from './references.ts';
import { isPage } from './site-links.ts';

/** A line that both texts have, or one of them alone. */
interface DiffLine {
  kind: 'same' | 'removed' | 'added';
  text: string;
}

/**
 * What differs; `skipped` counts lines that both have, or that are too many to show, between what is listed. `unmatched`
 * comes first where the texts differ too much to be compared line by line: all of one is removed, all of the other added.
 */
export type DiffPart = DiffLine | { kind: 'skipped'; lines: number } | { kind: 'unmatched' };

export interface DiffLimits {
  /** Lines that both have, shown around each difference. */
  around: number;
  /** Most lines listed; the rest is skipped. */
  most: number;
}

/** Most lines removed and added: time grows by their square. */
const mostEdits = 1_000;

/** The lines that differ, in order, with a few around them; empty when both texts are equal. */
export function lineDiff(
  before: readonly string[],
  after: readonly string[],
  { around, most }: DiffLimits,
): DiffPart[] {
  const { lines, isMatched } = allLines(before, after);
  const isNear = lines.map(() => false);
  for (const [index, { kind }] of lines.entries()) {
    if (kind !== 'same') isNear.fill(true, Math.max(0, index - around), index + around + 1);
  }
  if (!isNear.includes(true)) return [];
  const parts: DiffPart[] = isMatched ? [] : [{ kind: 'unmatched' }];
  let listed = 0;
  for (const [index, line] of lines.entries()) {
    const last = parts.at(-1);
    if (isNear[index] === true && listed < most) {
      parts.push(line);
      listed += 1;
    } else if (last?.kind === 'skipped') {
      last.lines += 1;
    } else {
      parts.push({ kind: 'skipped', lines: 1 });
    }
  }
  return parts;
}

/** All of one, then all of the other, and `isMatched` false where they differ in more than `mostEdits` lines. */
function allLines(before: readonly string[], after: readonly string[]): { lines: DiffLine[]; isMatched: boolean } {
  const changes = diffArrays([...before], [...after], { maxEditLength: mostEdits });
  const whole = [
    { value: before, added: false, removed: true },
    { value: after, added: true, removed: false },
  ];
  const lines = (changes ?? whole).flatMap(({ value, added, removed }) =>
    value.map((text): DiffLine => ({ kind: added ? 'added' : removed ? 'removed' : 'same', text })),
  );
  return { lines, isMatched: changes !== undefined };
}

/** Elements within a line; any other begins a new one. */
const inline = new Set(
  'a abbr acronym b bdi bdo big button cite code data del dfn em font i img input ins kbd label mark q rp rt ruby s samp select small span strike strong sub sup time tt u var wbr'.split(
    ' ',
  ),
);
/** Elements whose content readers do not see. */
const silent = new Set(['script', 'style', 'template', 'noscript', 'svg', 'math', 'iframe', 'object', 'canvas']);

/** A page's text, a line for each block, white space as browsers show it. Null where elements nest too deep. */
export function pageText(html: string): string[] | null {
  try {
    return linesIn(html);
  } catch (error) {
    if (error instanceof TooDeep) return null;
    throw error;
  }
}

function linesIn(html: string): string[] {
  const lines: string[] = [];
  let line = '';
  let depth = 0;
  let silence = 0;
  let preformatted = 0;
  const end = () => {
    const text = preformatted > 0 ? line.trimEnd() : line.replaceAll(/\s+/g, ' ').trim();
    if (text !== '') lines.push(text);
    line = '';
  };
  const parser = new Parser(
    {
      onopentagname(name) {
        depth += 1;
        if (depth > deepestElement) throw new TooDeep();
        if (silent.has(name)) silence += 1;
        if (!inline.has(name)) end();
        if (name === 'pre') preformatted += 1;
      },
      onopentag(name, { alt = '' }) {
        if (name === 'img' && silence === 0 && alt !== '') line += ` [${alt}] `;
      },
      ontext(text) {
        if (silence > 0) return;
        if (preformatted === 0) {
          line += text;
          return;
        }
        const [first = '', ...rest] = text.split('\n');
        line += first;
        for (const next of rest) {
          end();
          line = next;
        }
      },
      onclosetag(name) {
        depth -= 1;
        if (!inline.has(name)) end();
        if (silent.has(name)) silence -= 1;
        if (name === 'pre') preformatted -= 1;
      },
    },
    { decodeEntities: true },
  );
  parser.end(html);
  end();
  return lines;
}

/**
 * The content of a few small files of a version, by path, each as the manifest has it. Reads the whole archive until the
 * last of them is found. Throws `NoSuchVersion`, `VersionDamaged`, the signal's reason.
 */
export async function readFiles(
  store: Pick<BundleStore, 'withArchive'>,
  domain: string,
  { version, archive, files }: Manifest,
  paths: readonly string[],
  work: Work,
): Promise<Map<string, Buffer>> {
  const listed = new Map(files.map((file) => [file.path, file]));
  const wanted = new Set(paths);
  const found = new Map<string, Buffer>();
  const onEntry = ({ name, kind }: ArchiveEntry): EntryAnswer => {
    work.signal?.throwIfAborted();
    if (found.size === wanted.size) return 'stop';
    const checked = kind === 'file' ? checkPath(name, false) : null;
    const path = checked !== null && 'path' in checked ? checked.path : '';
    if (!wanted.has(path)) return 'skip';
    const pieces: Uint8Array[] = [];
    let left = listed.get(path)?.bytes ?? 0;
    return {
      write(piece) {
        left -= piece.length;
        // However much a damaged archive unpacks to, no more is held.
        if (left < 0) throw notAsListed();
        // The reader reuses its memory.
        pieces.push(Uint8Array.from(piece));
      },
      end: () => void found.set(path, Buffer.concat(pieces)),
    };
  };
  if (wanted.size > 0) {
    const streamBytes = Number.POSITIVE_INFINITY;
    const read = (path: string) =>
      withByteFile(path, (file) => readers[archive.format](file, { streamBytes, onEntry }));
    await store.withArchive(domain, version, read, work);
  }
  for (const path of wanted) {
    const content = found.get(path);
    if (content === undefined || hash('sha256', content) !== listed.get(path)?.sha256) {
      throw notAsListed();
    }
  }
  return found;
}

function notAsListed(): VersionDamaged {
  return new VersionDamaged('its archive does not have the files that its manifest lists');
}

/** A page with the same path in both versions, and what differs in its text; empty when only its markup does. */
export interface ChangedPage {
  path: string;
  parts: DiffPart[];
}

/** What a version changes against another, short enough to be read. */
export interface VersionChanges {
  /** Null for a first version. */
  from: ComparedVersion | null;
  to: ComparedVersion;
  counts: ManifestDiff['counts'];
  /** Paths of pages, the first of each kind; of those that moved the new one. */
  pages: ReturnType<typeof changedPages>;
  /** Some of the changed pages: none that are long or nested too deep. */
  texts: ChangedPage[];
  /** Why no text was compared; null when it was. */
  without: string | null;
}

export type ComparedStore = Pick<BundleStore, 'manifest' | 'withArchive'>;

/** Paths of each kind. */
const mostListed = 100;
/** Most pages whose texts are compared. */
const mostTexts = 20;
/** Longest of them, in bytes of HTML. */
const longestPage = 256 * 1024;
/** Larger archives are not read, in bytes. */
const largestArchive = 32 * 1024 ** 2;
const limits = { around: 2, most: 80 };
const longestLine = 400;

/** What version `to` changes against `from`, which is null when nothing is in service yet. Throws `NoSuchVersion`, `VersionDamaged`. */
export async function compareVersions(
  store: ComparedStore,
  domain: string,
  { from, to }: { from: string | null; to: string },
  work: Work,
): Promise<VersionChanges> {
  const after = await store.manifest(domain, to);
  const before = from === null ? null : await store.manifest(domain, from);
  const diff = compareManifests(before, after);
  const short = diff.changed.filter(({ before: old, after: fresh }) => Math.max(old.bytes, fresh.bytes) <= longestPage);
  const compared = short.map(({ path }) => path).filter(isPage);
  const tooLarge = Math.max(before?.archive.bytes ?? 0, after.archive.bytes) > largestArchive;
  const without = tooLarge && compared.length > 0 ? 'the bundles are too large to be opened for it' : null;
  const texts =
    before === null || tooLarge
      ? []
      : await compareTexts(store, domain, [before, after], compared.slice(0, mostTexts), work);
  return {
    from: before && diff.from,
    to: diff.to,
    counts: diff.counts,
    pages: changedPages(diff, mostListed),
    texts,
    without,
  };
}

async function compareTexts(
  store: ComparedStore,
  domain: string,
  [before, after]: [Manifest, Manifest],
  paths: readonly string[],
  work: Work,
): Promise<ChangedPage[]> {
  const old = await readFiles(store, domain, before, paths, work);
  const fresh = await readFiles(store, domain, after, paths, work);
  const texts: ChangedPage[] = [];
  for (const path of paths) {
    await letOthersRun();
    work.signal?.throwIfAborted();
    const [was, is] = [linesOf(old.get(path)), linesOf(fresh.get(path))];
    if (was === null || is === null) continue;
    const parts = lineDiff(was, is, limits);
    texts.push({
      path,
      parts: parts.map((part) => ('text' in part ? { ...part, text: cut(part.text) } : part)),
    });
  }
  return texts;
}

function linesOf(html: Buffer | undefined): string[] | null {
  return pageText(html?.toString('utf8') ?? '');
}

function cut(line: string): string {
  const characters = [...line.slice(0, 2 * longestLine)];
  if (characters.length <= longestLine && line.length <= 2 * longestLine) return line;
  return `${characters.slice(0, longestLine).join('')}…`;
}
