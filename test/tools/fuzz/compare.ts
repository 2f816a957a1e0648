import { isDeepStrictEqual } from 'node:util';
import { sortFiles } from '../../../src/bundle/archive/content-digest.ts';
import { verifyBytes } from '../../../src/bundle/verification/verify-archive.ts';
import type { ArchiveFormat } from '../../../src/model/export/archive-facts.ts';
import { bytesInMemory } from '../archives/bytes-in-memory.ts';
import { type Oracle, readGzipWithTarStream, readWithTarStream, readWithYauzl } from './oracles.ts';
import { Random, seedOf } from './random.ts';
import { tarInput } from './tar-input.ts';
import { zipInput } from './zip-input.ts';

const someLimits = { maxBytes: 4 * 1024 ** 2, maxFiles: 1000, maxRatio: 2000 };
const oracles: Record<ArchiveFormat, Oracle> = {
  tar: readWithTarStream,
  'tar.gz': readGzipWithTarStream,
  zip: readWithYauzl,
};

/** What became of one input: `finding` says what is wrong with the reader, if anything is. */
export interface Outcome {
  format: ArchiveFormat | null;
  accepted: boolean;
  /** The rule that refused it. */
  rule: string | null;
  /** The library refused what the reader accepted. */
  stricterLibrary: boolean;
  finding: string | null;
}

/** The input with this number in the run with this seed. */
export function inputOf(seed: number, index: number): Buffer {
  const random = new Random(seedOf(seed, index));
  return index % 2 === 0 ? tarInput(random) : zipInput(random);
}

/** Reads one archive and, when it is accepted, compares its files with those a library finds. Never throws. */
export async function compare(archive: Buffer, oracle?: Oracle): Promise<Outcome> {
  try {
    const report = await verifyBytes(bytesInMemory(archive), { limits: someLimits, structureOnly: true });
    const rule = report.reasons[0]?.rule ?? null;
    const outcome: Outcome = {
      format: report.format,
      accepted: report.ok,
      rule,
      stricterLibrary: false,
      finding: null,
    };
    if (!report.ok || report.format === null) return outcome;
    const theirs = await attempt(oracle ?? oracles[report.format], archive);
    if (theirs instanceof Error) return { ...outcome, stricterLibrary: true, rule: theirs.message };
    const same = isDeepStrictEqual(sortFiles(theirs), report.entries);
    return { ...outcome, finding: same ? null : 'accepted with another content than the library finds' };
  } catch (error) {
    const finding = `thrown: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
    return { format: null, accepted: false, rule: null, stricterLibrary: false, finding };
  }
}

async function attempt(oracle: Oracle, archive: Buffer) {
  try {
    return await oracle(archive);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
