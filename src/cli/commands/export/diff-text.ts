import type { ContentFile } from '../../../exports/archive/content-digest.ts';
import { printablePath } from '../../../exports/rules/reason-list.ts';
import type {
  ChangeCounts,
  ChangedFile,
  ComparedVersion,
  ManifestDiff,
} from '../../../exports/store/compare-manifests.ts';
import { counted, sizeText } from '../../../rules/quantities.ts';
import type { Paint } from '../../terminal/output.ts';
import { factLines, indent } from '../../terminal/text.ts';

/** What differs between two versions, for people; at most `most` files of each kind. */
export function diffText(domain: string, diff: ManifestDiff, most: number, paint: Paint): string {
  const { from, to, counts } = diff;
  const facts = factLines([
    ['from', versionLine(from)],
    ['to', `${versionLine(to)}${sizeChange(from.bytes, to.bytes)}`],
  ]);
  if (diff.equal) {
    return [`${domain}: ${paint.green('equal')}, both versions have the same files`, indent(facts)].join('\n');
  }
  const totals = factLines([
    ['pages', countsLine(counts.pages)],
    ['files', countsLine(counts.files)],
  ]);
  const lines = [`${domain}: what changed`, indent(facts), indent(totals)];
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

function countsLine({ added, removed, changed, moved, unchanged }: ChangeCounts): string {
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
