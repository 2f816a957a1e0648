import type { Reason } from '../model/cargo.ts';
import type { ExportResult } from '../model/site-export.ts';
import type { Paint } from './output.ts';
import { factLines, indent, sizeText } from './text.ts';

/** The result of an export for people. */
export function exportResultText(result: ExportResult, paint: Paint): string {
  const { domain, outcome, version, contentDigest, archive, pages, files, url, jobId, polls, jobsStarted } = result;
  const heading = {
    published: `${paint.green('published')} a new version of ${domain}`,
    unchanged: `${paint.green('unchanged')}: ${domain} is as it was published`,
    rejected: `${paint.red('rejected')}: the bundle of ${domain} was refused, nothing was published`,
  }[outcome];
  const facts: (readonly [string, string])[] = [];
  if (version !== null) facts.push(['version', version]);
  if (contentDigest !== null) facts.push(['digest', contentDigest]);
  if (archive !== null) facts.push(['archive', `${archive.format}, ${sizeText(archive.bytes)}`]);
  facts.push(['content', `${pages} pages, ${files} files`]);
  if (url !== null) facts.push(['url', url]);
  facts.push(['job', `${jobId ?? 'none'}${jobsStarted > 1 ? ` (${jobsStarted} jobs were started)` : ''}`]);
  facts.push(['polls', `${polls}`]);
  for (const rollout of result.rollouts) {
    const word = rollout.outcome === 'failed' ? paint.red(rollout.outcome) : rollout.outcome;
    facts.push([rollout.target, `${word}: ${rollout.detail}`]);
  }
  const lines = [heading, indent(factLines(facts))];
  if (result.reasons.length > 0) lines.push('reasons:', reasonLines(result.reasons));
  return lines.join('\n');
}

/** One line a reason, all of them. */
export function reasonLines(reasons: readonly Reason[]): string {
  return reasons.map(({ rule, path, detail }) => `  ${rule}${path === null ? '' : `  ${path}`}: ${detail}`).join('\n');
}
