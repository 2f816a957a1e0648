import type { Config } from '../../../config/config.ts';
import type { ContentFile } from '../../../exports/archive/content-digest.ts';
import { printablePath } from '../../../exports/rules/verification-rules.ts';
import { type BundleStore, type Manifest, NoSuchVersion, RecordDamaged } from '../../../exports/store/bundle-store.ts';
import {
  type ChangedFile,
  type ComparedVersion,
  compareManifests,
  type FileCounts,
  type ManifestDiff,
} from '../../../exports/store/compare-manifests.ts';
import { openBundleStore } from '../../../exports/store/open-bundle-store.ts';
import { waitingVersion } from '../../../operations/exports.ts';
import type { Site } from '../../../operations/operator.ts';
import { counted, sizeText } from '../../../rules/text.ts';
import {
  type CommandContext,
  type CommandFile,
  loadContextConfig,
  operationFailure,
  type Paint,
} from '../../context.ts';
import { explainFailure } from '../../explain-failure.ts';
import { currentVersion, findVersion, versionBefore } from '../../find-version.ts';
import { findSite, siteHelp } from '../../flags.ts';
import { withInstallation } from '../../operator.ts';
import { holdText } from '../../terminal/progress.ts';
import { factLines, indent, tableLines, timeText, wrapped } from '../../terminal/text.ts';

export default {
  diff: (command, run) =>
    command
      .argument('<domain>', siteHelp)
      .argument('[a]', 'the older version; default: the one before the newer one, or the current one if another waits')
      .argument(
        '[b]',
        'the newer version; default: the current one, or, without [a], the one that waits for approval or for a release',
      )
      .option('--all', 'list every file, not only 20 of each kind')
      .addHelpText('after', '\nCompares the manifests only. The exit code is 0 whether or not files differ.')
      .action(run(showDiff)),
  versions: (command, run) => command.argument('<domain>', siteHelp).action(run(listVersions)),
} satisfies CommandFile;

/** `from` is null for a first version. */
type Comparison = Omit<ManifestDiff, 'from'> & { from: ComparedVersion | null };

/** What differs between two versions, for people; at most `most` files of each kind. */
function diffText(domain: string, diff: Comparison, most: number, paint: Paint): string {
  const { from, to, counts } = diff;
  const facts = factLines([
    ...(from === null ? [] : [['from', versionLine(from)] as const]),
    ['to', `${versionLine(to)}${from === null ? '' : sizeChange(from.bytes, to.bytes)}`],
  ]);
  if (diff.equal) {
    return [`${domain}: ${paint.green('equal')}, both versions have the same files`, indent(facts)].join('\n');
  }
  const totals = factLines([
    ['pages', countsLine(counts.pages)],
    ['files', countsLine(counts.files)],
  ]);
  const what = from === null ? `first version: ${counted(to.pages, 'page')} added` : 'what changed';
  const lines = [`${domain}: ${what}`, indent(facts), indent(totals)];
  const list = <T>(title: string, files: readonly T[], line: (file: T) => string) => {
    if (files.length === 0) return;
    lines.push(`${title}:`, ...files.slice(0, most).map((file) => `  ${line(file)}`));
    if (files.length > most) lines.push(`  … and ${files.length - most} more, see --all`);
  };
  list('added', diff.added, (file) => paint.green(`+ ${fileLine(file)}`));
  list('removed', diff.removed, (file) => paint.red(`- ${fileLine(file)}`));
  list('changed', diff.changed, (file) => paint.yellow(`~ ${changedLine(file)}`));
  list('moved', diff.moved, ({ from: old, to: path }) =>
    paint.cyan(`> ${printablePath(old)} → ${printablePath(path)}`),
  );
  return lines.join('\n');
}

function versionLine({ version, pages, files, bytes }: ComparedVersion): string {
  return `${version}, ${counted(pages, 'page')}, ${counted(files, 'file')}, ${sizeText(bytes)}`;
}

export function countsLine({ added, removed, changed, moved, unchanged }: FileCounts): string {
  return `${added} added, ${removed} removed, ${changed} changed, ${moved} moved, ${unchanged} unchanged`;
}

function fileLine({ path, bytes }: ContentFile): string {
  return `${printablePath(path)} (${sizeText(bytes)})`;
}

function changedLine({ path, before, after }: ChangedFile): string {
  return `${printablePath(path)} (${sizeText(before.bytes)}${sizeChange(before.bytes, after.bytes)})`;
}

function sizeChange(before: number, after: number): string {
  if (before === after) return '';
  return after > before ? `, +${sizeText(after - before)}` : `, -${sizeText(before - after)}`;
}

const shownFiles = 20;

async function showDiff(
  context: CommandContext,
  name: string,
  a: string | undefined,
  b: string | undefined,
  { all }: { all?: boolean },
): Promise<void> {
  const config = await loadContextConfig(context);
  const { org, domain } = findSite(config, name);
  const store = await openBundleStore(config.store.bundles);
  const find = (wanted: string) => findVersion(store, domain, wanted);
  const names = a === undefined ? (await store.versions(domain)).map(({ version }) => version) : [];
  const current = (await store.current(domain))?.version ?? null;
  const named = b === undefined ? current : await find(b);
  const waits = await waitingBeside(context, config, store, { org, domain }, names, named);
  const newer = waits ?? named ?? (await currentVersion(store, domain));
  const before = async () => (waits === null ? versionBefore(names, domain, newer) : named);
  const older = a === undefined ? await before() : await find(a);
  const isFirst = older === null;
  const diff = compareManifests(
    isFirst ? null : await manifestOf(store, domain, older),
    await manifestOf(store, domain, newer),
  );
  const shown: Comparison = { ...diff, ...(isFirst && { from: null }) };
  const most = all ? Number.POSITIVE_INFINITY : shownFiles;
  context.output.result({ domain, ...shown }, diffText(domain, shown, most, context.output.paint));
}

/** The version that waits for a release or an approval, newer than the current one; null when none does, or nobody can say. */
async function waitingBeside(
  context: CommandContext,
  config: Config,
  store: BundleStore,
  site: Site,
  names: readonly string[],
  current: string | null,
): Promise<string | null> {
  // What waits is newer: without such a version Temporal need not be there.
  if (!names.some((name) => current === null || name > current)) return null;
  const held = (await store.holds.of(site.domain))?.waiting ?? null;
  if (held !== null && names.includes(held)) return held;
  try {
    return await withInstallation(config, (installation) => waitingVersion(installation, site));
  } catch (error) {
    context.output.warn(`whether a version waits for approval is unknown: ${explainFailure(error).message}`);
    return null;
  }
}

async function manifestOf(store: BundleStore, domain: string, version: string): Promise<Manifest> {
  try {
    return await store.manifest(domain, version);
  } catch (error) {
    const isLacking = error instanceof NoSuchVersion;
    if (!isLacking && !(error instanceof RecordDamaged)) throw error;
    const lacking = `${version} is incomplete in the store: it has no manifest`;
    const what = isLacking ? lacking : `the manifest of ${version} is damaged`;
    throw operationFailure('VersionDamaged', what, 'see `docferry store verify`');
  }
}

async function listVersions(context: CommandContext, name: string): Promise<void> {
  const config = await loadContextConfig(context);
  const { org, domain, site } = findSite(config, name);
  const store = await openBundleStore(config.store.bundles);
  const current = (await store.current(domain))?.version ?? null;
  const versions = await store.versions(domain);
  const hold = await store.holds.of(domain);
  const names = versions.map(({ version }) => version);
  const waiting = await waitingBeside(context, config, store, { org, domain }, names, current);
  const document = { domain, current, waiting, held: hold?.version ?? null, hold, versions };
  const rows = versions.map(({ version, publishedAt, pages, bytes, jobId }) => [
    version === current ? '*' : version === waiting ? 'waits' : '',
    version,
    timeText(publishedAt),
    `${pages}`,
    sizeText(bytes),
    jobId,
  ]);
  const { columns } = context.output.surface;
  const table = tableLines(['', 'version', 'published (UTC)', 'pages', 'archive', 'job'], rows, columns, ['job']);
  const lines = [rows.length === 0 ? `nothing published of ${domain} yet` : table];
  for (const { name: target } of current === null ? [] : site.rollout) {
    const reached = await store.rolledOut(domain, target);
    if (reached !== current)
      lines.push(`${target} did not get ${current}: the last one it got is ${reached ?? 'none'}`);
  }
  if (hold !== null) lines.push(holdText(hold));
  context.output.result(document, wrapped(lines.join('\n'), columns));
}
