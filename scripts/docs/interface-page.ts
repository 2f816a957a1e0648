import { appendix } from './interface/appendix.ts';
import { feedback } from './interface/feedback.ts';
import type { Requirement, Section } from './interface/requirement.ts';
import { rules } from './interface/rules.ts';
import { service } from './interface/service.ts';
import { staticExport } from './interface/static-export.ts';

const intro = `# The interface, line by line

<!-- Generated from scripts/docs/interface/ by \`npm run docs\`: change it there. -->

Every line of the service's interface, in its order and in short words, with the tests that cover it: each field,
endpoint, rule and limit, what the interface leaves open ("not shown"), and what its appendix has seen. A test that runs
over a table of cases is named by its template. Where the service's own side is meant, the test of the sandbox shows that
the stand-in, against which everything else is tested, does the same.

\`test/docs/interface-coverage.test.ts\` fails when a line has no test, or names one that does not exist.
`;

/** All parts of the interface, in its order. */
export const interfaceSections: readonly Section[] = [...service, ...feedback, ...staticExport, ...rules, ...appendix];

/** A test as a requirement names it: `service/client > every operation > …`. */
export interface NamedTest {
  /** Relative to the repository. */
  file: string;
  /** Titles of its groups and its own, joined by ` > `. */
  name: string;
}

/** The test that a requirement names. */
export function namedTest(text: string): NamedTest {
  const [file = '', ...titles] = text.split(' > ');
  return { file: `test/${file}.test.ts`, name: titles.join(' > ') };
}

/** `docs/interface-coverage.md`: a table for each part of the interface. */
export function interfacePage(): string {
  const count = interfaceSections.reduce((sum, { requirements }) => sum + requirements.length, 0);
  return [intro, `${count} lines.\n`, ...interfaceSections.map(sectionText)].join('\n');
}

function sectionText({ title, requirements }: Section): string {
  const head = ['| id | line | tests |', '|---|---|---|'];
  return `## ${title}\n\n${[...head, ...requirements.map(row)].join('\n')}\n`;
}

function row([id, says, ...tests]: Requirement): string {
  return `| \`${id}\` | ${says.replaceAll('|', '\\|')} | ${tests.map(link).join('<br>')} |`;
}

function link(text: string): string {
  const { file, name } = namedTest(text);
  return `[${file.slice('test/'.length, -'.test.ts'.length)}](../${file}): ${name.replaceAll(/[\\`*_[\]<|]/g, '\\$&')}`;
}
