import { SITE_RULES } from '../../src/bundle/site/site-rules.ts';
import { type RuleText, STRUCTURE_RULES } from '../../src/bundle/structure-rules.ts';

const intro = `# Verification

<!-- Generated from src/bundle/structure-rules.ts and src/bundle/site/site-rules.ts by \`npm run docs\`: change it there. -->

No byte of an archive becomes visible before all of it was read and checked. \`docferry export verify FILE\` does the same
for any archive, without configuration or Temporal; \`--explain\` shows the lines below for the rules that were broken.

The readers are docferry's own (\`src/bundle/readers\`, on \`node:zlib\`): a tar or zip is read once, front to back, in
threads of their own and with flat memory, and **every byte must belong to an entry or to the format and mean the same to
every reader**. A zip's central directory is walked beside its entries, and the two must agree without a gap or an
overlap. Archives of GNU tar, bsdtar, Python, Go, git, Info-ZIP and 7-Zip pass; not those whose zip names are neither ASCII
nor marked as UTF-8, tar files of 7-Zip with names over 100 bytes, and zips that bsdtar wrote into a pipe, padded with
zeros.

\`npm run test:fuzz\` reads a million mutated archives beside well-kept libraries; \`npm run bench:verify\` measures.
`;

const structure = `## Structure

Every one of these refuses the archive, and each is shown by archives that \`scripts/archives/refusals.ts\` makes byte by byte.
[bad-input.md](bad-input.md) lists them with what became of each.
`;

const site = `## Site

These look at what is in the files. A level of \`refuse\`, \`warn\` or \`off\` is set by \`bundle.rules\` of a site:

\`\`\`yaml
bundle:
  rules: { broken-link: refuse, source-map: off }
\`\`\`

\`--structure-only\` leaves them out. Findings name the file and the line; ten of a rule are listed, the others counted.
HTML is read as browsers read it, style sheets for \`url()\` and \`@import\`, scripts for modules from elsewhere. A link
to \`/guide\` is good when there is \`guide\`, \`guide.html\` or \`guide/index.html\`. What scripts load while they run is not
seen.
`;

/** `docs/verification.md`: every rule with what it refuses and why. */
export function verificationPage(): string {
  const structureRows = Object.entries(STRUCTURE_RULES).map(([name, text]) => row(name, text));
  const siteRows = Object.entries(SITE_RULES).map(([name, text]) => row(name, text, [`\`${text.level}\``]));
  return [
    intro,
    structure,
    table(['rule', 'refuses', 'why', 'known from'], structureRows),
    site,
    table(['rule', 'level', 'finds', 'why', 'known from'], siteRows),
  ].join('\n');
}

function row(name: string, { refuses, why, reference }: RuleText, more: string[] = []): string {
  return `| ${[`\`${name}\``, ...more, refuses, why, reference].map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function table(head: string[], rows: string[]): string {
  return `${[`| ${head.join(' | ')} |`, `|${head.map(() => '---').join('|')}|`, ...rows].join('\n')}\n`;
}
