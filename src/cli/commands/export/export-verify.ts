import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { defaultLimits } from '../../../exports/archive/check-entry.ts';
import { reasonCount } from '../../../exports/rules/site-export.ts';
import { explainRule, type RuleText } from '../../../exports/rules/verification-rules.ts';
import { checkSignedManifest, type SignatureVerdict } from '../../../exports/signing/check-signed-manifest.ts';
import { type Rendering, renderSite } from '../../../exports/verify/render-site.ts';
import { type VerificationReport, withRendering } from '../../../exports/verify/verify-archive.ts';
import { verifyInThread } from '../../../exports/verify/verify-in-thread.ts';
import { errorCode } from '../../../files.ts';
import { counted, sizeText } from '../../../rules/text.ts';
import {
  type CommandContext,
  type CommandFile,
  type ExitCode,
  exitCodes,
  noSuchThing,
  type Paint,
  usageFailure,
} from '../../context.ts';
import { namedPublicKey, signedManifestOf } from '../../signed-manifest.ts';
import { reasonLines } from '../../terminal/progress.ts';
import { interruptible } from '../../terminal/prompts.ts';
import { factLines, indent, printable } from '../../terminal/text.ts';

export default {
  verify: (command, run) =>
    command
      .argument('<file>', 'a .tar.gz, .tar or .zip')
      .option('--structure-only', 'skip the rules about site content')
      .option(
        '--explain',
        'list up to 20 reasons instead of 10, why each broken rule exists, and every file with its digest',
      )
      .option('--signature <key>', 'minisign public key (or its file) that must have signed the manifest')
      .option(
        '--manifest <file>',
        'with --signature: the manifest, with its .minisig beside it; default: manifest.json beside the archive',
      )
      .option('--domain <domain>', 'with --signature: the site the manifest must belong to')
      .option('--site-version <version>', 'with --signature: the version the manifest must belong to')
      .option('--render <pages>', 'also open this many sampled pages in Chromium, without network')
      .option('--browser <file>', 'with --render: the browser to use; default: one found on this machine')
      .option('--no-browser-sandbox', "with --render: turn off the browser's own sandbox, as in most containers")
      .action(run(verifyFile)),
} satisfies CommandFile;

interface RenderFlags {
  structureOnly?: boolean;
  render?: string;
  browser?: string;
  browserSandbox: boolean;
}

const mostPages = 1_000;

/** How many pages `--render` asks for; null without it. */
function pagesToRender({ structureOnly, render, browser, browserSandbox }: RenderFlags): number | null {
  if (render === undefined) {
    if (browser !== undefined) throw usageFailure('--browser needs --render');
    if (!browserSandbox) throw usageFailure('--no-browser-sandbox needs --render');
    return null;
  }
  if (structureOnly) throw usageFailure('--render looks at the content, which --structure-only skips');
  const pages = /^\d{1,4}$/.test(render) ? Number(render) : 0;
  if (pages >= 1 && pages <= mostPages) return pages;
  throw usageFailure(`--render is "${render}": expected a number of pages from 1 to ${mostPages}`);
}

/** Opens this many pages of a good archive in a browser. Throws `BrowserUnusable`. */
async function renderPages(
  { cwd, output }: CommandContext,
  file: string,
  report: VerificationReport,
  { browser, browserSandbox, pages }: Pick<RenderFlags, 'browser' | 'browserSandbox'> & { pages: number },
): Promise<Rendering> {
  const workFolder = await mkdtemp(join(tmpdir(), 'docferry-verify-'));
  try {
    return await output.showing((live) =>
      interruptible('the remaining pages were not checked', (signal) =>
        renderSite(file, report, {
          pages,
          browser: { program: browser === undefined ? null : resolve(cwd, browser), sandbox: browserSandbox },
          levels: {},
          workFolder,
          signal,
          onPage: (done, all) => live.show(file, { key: `${done}`, text: `${done} of ${all} pages rendered` }),
        }),
      ),
    );
  } finally {
    await rm(workFolder, { recursive: true, force: true });
  }
}

interface VerifyFlags extends RenderFlags {
  explain?: boolean;
  signature?: string;
  manifest?: string;
  domain?: string;
  siteVersion?: string;
}

type Signed = SignatureVerdict['signed'];

const shownReasons = 10;
/** Smaller archives are read so fast that progress is not shown. */
const silentBelowBytes = 128 * 1024 ** 2;

async function verifyFile(context: CommandContext, file: string, flags: VerifyFlags): Promise<ExitCode> {
  const path = resolve(context.cwd, file);
  const pages = pagesToRender(flags);
  const signing = await signingOf(context, path, flags);
  const reading = context.output.showing((live) =>
    verifyInThread(path, {
      limits: defaultLimits,
      structureOnly: flags.structureOnly === true,
      onProgress: ({ files, bytes }) => {
        if (bytes < silentBelowBytes) return;
        live.show(file, { key: `${Math.floor(bytes / 1024 ** 3)}`, text: `${files} files, ${sizeText(bytes)} read` });
      },
    }),
  );
  const found = await reading.catch((error: unknown) => {
    throw unreadable(file, error);
  });
  const { reasons, signed } = signing?.check(found) ?? { reasons: [], signed: null };
  const signedReport = { ...found, ok: found.ok && reasons.length === 0, reasons: [...reasons, ...found.reasons] };
  const rendering =
    pages !== null && signedReport.ok ? await renderPages(context, path, found, { ...flags, pages }) : null;
  const report = rendering === null ? signedReport : withRendering(signedReport, rendering);
  const rules = flags.explain ? explained(report) : [];
  const document = {
    ...documentOf(report, flags, rules),
    ...(signing && { signature: signed }),
    ...(pages !== null && { rendered: rendering?.pages ?? [] }),
  };
  context.output.result(document, textOf(file, { report, signed, rendering }, flags, rules, context.output.paint));
  return report.ok ? exitCodes.done : exitCodes.failed;
}

/** What `--signature` asks for; read before the archive, so that a wrong key fails at once. */
async function signingOf({ cwd }: CommandContext, archive: string, flags: VerifyFlags) {
  const { signature, manifest, domain, siteVersion: version } = flags;
  if (signature === undefined) {
    const needing = { '--manifest': manifest, '--domain': domain, '--site-version': version };
    for (const [flag, value] of Object.entries(needing)) {
      if (value !== undefined) throw usageFailure(`${flag} needs --signature`);
    }
    return null;
  }
  const key = await namedPublicKey(cwd, signature);
  const signed = await signedManifestOf(cwd, archive, manifest);
  return { check: (report: VerificationReport) => checkSignedManifest(signed, key, report, { domain, version }) };
}

type Explained = { rule: string } & RuleText;

/** Each rule that was broken or warns, once, in the order of the report. */
function explained({ reasons, warnings }: VerificationReport): Explained[] {
  const names = new Set([...reasons, ...warnings].map(({ rule }) => rule));
  return [...names].flatMap((rule) => {
    const text = explainRule(rule);
    return text === null ? [] : [{ rule, refuses: text.refuses, why: text.why, reference: text.reference }];
  });
}

function documentOf(report: VerificationReport, { explain }: VerifyFlags, rules: readonly Explained[]): object {
  const { ok, format, reasons, warnings, files, pages, bytes, contentDigest, archive, entries } = report;
  const more = explain ? { rules, entries } : {};
  return { ok, format, reasons, warnings, files, pages, contentDigest, bytes, archive, ...more };
}

function textOf(
  file: string,
  { report, signed, rendering }: { report: VerificationReport; signed: Signed; rendering: Rendering | null },
  { explain }: VerifyFlags,
  rules: readonly Explained[],
  paint: Paint,
): string {
  const { ok, reasons, warnings, files, pages, bytes, contentDigest, archive, entries } = report;
  const lines = [`${file}: ${ok ? paint.green('good') : paint.red('refused')}`];
  if (archive !== null) {
    const facts: [string, string][] = [
      ['archive', `${archive.format}, ${sizeText(archive.bytes)}, sha256 ${archive.sha256}`],
      ['content', `${counted(pages, 'page')}, ${counted(files, 'file')}, ${sizeText(bytes)}`],
    ];
    if (contentDigest !== null) facts.push(['digest', contentDigest]);
    if (rendering !== null) facts.push(['rendered', `${counted(rendering.pages.length, 'page')}, without network`]);
    if (signed !== null) facts.push(['signed', `${signed.domain} ${signed.version}, by key ${signed.keyId}`]);
    if (signed !== null) facts.push(['comment', printable(signed.trustedComment.replaceAll('\t', ' '), 500)]);
    lines.push(indent(factLines(facts)));
  }
  const shown = explain ? reasons : reasons.slice(0, shownReasons);
  if (shown.length > 0) lines.push('reasons:', reasonLines(shown));
  if (shown.length < reasons.length) lines.push(`  … ${reasonCount(reasons.slice(shownReasons))} more, see --explain`);
  if (warnings.length > 0) lines.push('warnings:', reasonLines(warnings));
  if (rules.length > 0) lines.push('rules:', ...rules.map(ruleLine));
  if (explain) lines.push(...entries.map(({ path, bytes: size, sha256 }) => `  ${sha256}  ${size}  ${path}`));
  return lines.join('\n');
}

function ruleLine({ rule, refuses, why, reference }: Explained): string {
  return `  ${rule}: ${refuses}. ${why}${reference === '' ? '' : ` (${reference})`}`;
}

/** Names the file in system errors. */
function unreadable(file: string, error: unknown): unknown {
  const code = errorCode(error);
  if (code === 'ENOENT' || code === 'ENOTDIR') return noSuchThing('NoSuchFile', `there is no file ${file}`);
  if (code === 'EISDIR') return usageFailure(`${file} is a folder, not an archive`);
  if (code === 'EACCES') return usageFailure(`${file} cannot be read (EACCES)`);
  return error;
}
