import { renderRuleTexts } from '../../src/bundle/rules/render-rules.ts';
import { signatureRuleTexts } from '../../src/bundle/rules/signature-rules.ts';
import { siteRuleTexts } from '../../src/bundle/rules/site-rules.ts';
import { type RuleText, structureRuleTexts } from '../../src/bundle/rules/structure-rules.ts';

const intro = `# Verification

<!-- Generated from src/bundle/{structure-rules,site/site-rules,render/render-rules,signing/signature-rules}.ts by \`npm run docs\`: change it there. -->

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

Every one of these refuses the archive, and each is shown by archives that \`test/tools/archives/refusals.ts\` makes byte by byte.
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
to \`/guide\` is good when there is \`guide\`, \`guide.html\` or \`guide/index.html\`. What scripts load while they run is seen
only by rendering.
`;

const render = `## Rendering

On request sampled pages are opened in Chromium before a version is published:

\`\`\`yaml
bundle:
  render: { pages: 5 }
  rules: { page-script-error: refuse }
\`\`\`

\`docferry export verify bundle.tar.gz --render 5\` does the same for any archive. The index page is always looked at, the
others are chosen by the content digest: the same archive is looked at in the same places. The browser gets the files from
docferry itself, as \`https://bundle.invalid/\`, and has no network: every other request is refused and told, names have no
address, connections go to a proxy that is not there, and WebRTC has no UDP. It gets none of docferry's environment
variables. A page has 15 s to load and 3 s more to draw something; ten minutes are the limit for all.

It needs Chromium, Chrome or Edge on each worker: on the PATH, or named by \`browser\`. They keep pages in a sandbox of their
own, which root cannot have and which most containers do not allow; \`sandbox: false\` (\`--no-browser-sandbox\`) does
without, where the container itself keeps the worker apart. A worker whose browser is missing ends at its start and says
so, as does \`docferry doctor\`. The site is unpacked for it beside the download, which takes its size on the disk.

The levels are set by \`bundle.rules\`, as above.
`;

const signature = `## Signatures

A version's \`manifest.json\` names its archive by SHA-256 and every file in it. Signed, it lets someone who has nothing but
your public key, behind an air gap too, be sure of both: that the archive is what docferry published, and that nobody has
changed it since. The format is that of [minisign](https://jedisct1.github.io/minisign/): Ed25519 over the BLAKE2b-512 of
the manifest.

\`\`\`console
$ minisign -G -W -p docs.pub -s docs.key
\`\`\`

\`\`\`yaml
store:
  bundles:
    directory: ./data/bundles
    signing: { keyFile: docs.key }
\`\`\`

From then on each new version has a \`manifest.json.minisig\` beside its manifest, in both kinds of store; it is there
before the version can be seen, and the bundle server serves it. Versions published before stay unsigned, and an export
that changes nothing makes none: \`export start --force\` does. Only workers need the key. They read it at their start and
end with its file's name when it cannot be used. A key with a password (\`minisign -G\` without \`-W\`) takes
\`password: \${NAME}\` besides, and 1 GiB of the worker's memory for some seconds at its start: that is minisign's own
way of slowing down those who guess.

Whoever gets an archive puts \`manifest.json\` and \`manifest.json.minisig\` beside it:

\`\`\`console
$ docferry export verify bundle.tar.gz --signature docs.pub
$ minisign -Vm manifest.json -p docs.pub
\`\`\`

The first checks signature, manifest and archive, without configuration or network; the second the signature alone, without
docferry. Both show the trusted comment, which says domain, version and content digest. A signature says that the archive
is one you published, not that it is the newest: look at the version. To change keys, sign new versions with the new one
and hand out its public half; old versions go on being verified with the old.

These refuse the archive:
`;

/** `docs/verification.md`: every rule with what it refuses and why. */
export function verificationPage(): string {
  const structureRows = Object.entries(structureRuleTexts).map(([name, text]) => row(name, text));
  const siteRows = Object.entries(siteRuleTexts).map(([name, text]) => row(name, text, [`\`${text.level}\``]));
  const signatureRows = Object.entries(signatureRuleTexts).map(([name, { refuses, why }]) =>
    line([`\`${name}\``, refuses, why]),
  );
  const renderRows = Object.entries(renderRuleTexts).map(([name, { level, refuses, why }]) =>
    line([`\`${name}\``, `\`${level}\``, refuses, why]),
  );
  return [
    intro,
    structure,
    table(['rule', 'refuses', 'why', 'known from'], structureRows),
    site,
    table(['rule', 'level', 'finds', 'why', 'known from'], siteRows),
    render,
    table(['rule', 'level', 'finds', 'why'], renderRows),
    signature,
    table(['rule', 'refuses', 'why'], signatureRows),
  ].join('\n');
}

function row(name: string, { refuses, why, reference }: RuleText, more: string[] = []): string {
  return line([`\`${name}\``, ...more, refuses, why, reference]);
}

function line(cells: string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function table(head: string[], rows: string[]): string {
  return `${[`| ${head.join(' | ')} |`, `|${head.map(() => '---').join('|')}|`, ...rows].join('\n')}\n`;
}
