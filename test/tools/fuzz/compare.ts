import { rmSync, writeFileSync } from 'node:fs';
import type { VerificationReport } from '../../../src/exports/verify/verify-archive.ts';
import { verifyBytes } from '../../../src/exports/verify/verify-archive.ts';
import { bytesInMemory } from '../archives/bytes-in-memory.ts';
import type { AcceptedArchive, Oracle } from './oracles/oracle.ts';
import { difference, reportedTree, type Tree } from './oracles/tree.ts';

/** How the problem of a reader begins that stops with an error. */
const refusal = 'refuses: ';
const someLimits = { maxBytes: 4 * 1024 ** 2, maxFiles: 1000, maxRatio: 2000 };

/** Verifies the structure of an archive. */
export function verify(archive: Buffer): Promise<VerificationReport> {
  return verifyBytes(bytesInMemory(archive), { limits: someLimits, structureOnly: true });
}

interface Comparison {
  /** Names of the oracles that read the archive. */
  read: string[];
  /** Names of the oracles that stopped with an error where the verifier says so. */
  stopped: string[];
  /** For each oracle that saw something else than the verifier, its name and what. */
  disagreements: string[];
}

/**
 * Gives an accepted archive to every oracle of its format and compares what each unpacks with what the verifier reports.
 * @param scratch names a file and folders that do not exist; they are gone afterwards
 */
export async function compare(
  bytes: Buffer,
  report: VerificationReport,
  oracles: readonly Oracle[],
  scratch: string,
): Promise<Comparison> {
  const { format } = report;
  if (!report.ok || format === null) throw new TypeError('only accepted archives are compared');
  const archive: AcceptedArchive = { format, bytes, file: `${scratch}.${format}` };
  const { tree, stopped } = await reportedTree(bytes, format, report);
  writeFileSync(archive.file, bytes);
  const reading = oracles.filter(({ formats }) => formats.includes(format));
  const answers = await Promise.all(
    reading.map(async (oracle, index) => ({
      name: oracle.name,
      problem: await problemOf(oracle, archive, tree, `${scratch}-${index}`),
    })),
  );
  rmSync(archive.file);
  const excused = ({ name, problem }: (typeof answers)[number]) =>
    stopped.has(name) && problem?.startsWith(refusal) === true;
  return {
    read: answers.filter((answer) => !excused(answer)).map(({ name }) => name),
    stopped: answers.filter(excused).map(({ name }) => name),
    disagreements: answers.flatMap((answer) =>
      answer.problem === null || excused(answer) ? [] : [`${answer.name}: ${answer.problem}`],
    ),
  };
}

async function problemOf(
  oracle: Oracle,
  archive: AcceptedArchive,
  expected: Tree,
  folder: string,
): Promise<string | null> {
  try {
    return difference(expected, await oracle.read(archive, folder));
  } catch (error) {
    return `${refusal}${error instanceof Error ? error.message : String(error)}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
