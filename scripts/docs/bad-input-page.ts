import { verifyBytes } from '../../src/bundle/verification/verify-archive.ts';
import { bytesInMemory } from '../../test/tools/archives/bytes-in-memory.ts';
import { type Refusal, refusedArchives } from '../../test/tools/archives/refusals.ts';
import { archives } from './bad-input/archives.ts';
import type { BadCase, BadInput } from './bad-input/bad-case.ts';
import { sites, stores } from './bad-input/stores.ts';
import { transfer } from './bad-input/transfer.ts';
import { namedTest } from './interface-page.ts';

const intro = `# Bad input

<!-- Generated from scripts/docs/bad-input/ and test/tools/archives/refusals.ts by \`npm run docs\`: change it there. -->

What has been seen to hurt programs that fetch, read, publish and serve archives, and what shows that it does no harm here:
each ends in one clear refusal, the version before still serves, and nothing half is left. Names of rules lead to
[verification.md](verification.md); the archives that break them stand in the table below. A test that runs over a table
of cases is named by its template. \`test/docs/bad-input.test.ts\` fails when a case has no test, or names one that does
not exist.
`;

const refusals = `## Refused archives

Made byte by byte by \`test/tools/archives/refusals.ts\`, and read when this page was made: \`npm run docs\`. The outcome is the
rule by which each was refused.
`;

/** What each case limits, where the table of refusals was read with less than this. */
export const refusalLimits = { maxBytes: 10_000_000, maxFiles: 100, maxRatio: 200 };

/** All cases, by their ids. */
export const badCases: readonly BadCase[] = [...archives, ...transfer, ...stores, ...sites];

/** Whether something is shown by the archives that break a rule, and not by a test of its own. */
export function isRule(shownBy: string): boolean {
  return /^[a-z0-9-]+$/.test(shownBy);
}

/** The rules by which an archive is refused; `accepted` when it is not. */
export async function outcomeOf({ archive, limits, timeLimitMs }: Refusal): Promise<string> {
  const report = await verifyBytes(bytesInMemory(archive), {
    limits: { ...refusalLimits, ...limits },
    structureOnly: true,
    ...(timeLimitMs !== undefined && { timeLimitMs }),
  });
  return report.ok ? 'accepted' : report.reasons.map(({ rule }) => rule).join(', ');
}

/** `docs/bad-input.md`: every case with what shows it, then every archive with its outcome. */
export async function badInputPage(): Promise<string> {
  const outcomes = new Map<string, number>();
  for (const refusal of refusedArchives) {
    const row = `| \`${refusal.rule}\` | ${cell(refusal.shows)} | \`${await outcomeOf(refusal)}\` |`;
    outcomes.set(row, (outcomes.get(row) ?? 0) + 1);
  }
  const rows = [...outcomes].map(([row, count]) => `${row} ${count} |`);
  return [
    intro,
    ...badCases.map(caseText),
    refusals,
    `${refusedArchives.length} archives.\n`,
    `${['| rule | archive | outcome | archives |', '|---|---|---|---|', ...rows].join('\n')}\n`,
  ].join('\n');
}

function caseText({ id, title, inputs }: BadCase): string {
  return `## ${id}: ${title}\n\n${['| input | shown by |', '|---|---|', ...inputs.map(inputRow)].join('\n')}\n`;
}

function inputRow([says, ...shownBy]: BadInput): string {
  return `| ${cell(says)} | ${shownBy.map((text) => (isRule(text) ? `\`${text}\`` : link(text))).join('<br>')} |`;
}

function link(text: string): string {
  const { file, name } = namedTest(text);
  return `[${file.slice('test/'.length, -'.test.ts'.length)}](../${file}): ${name.replaceAll(/[\\`*_[\]<|]/g, '\\$&')}`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
