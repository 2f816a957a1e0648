import type { Config } from '../../config/config.ts';
import type { BundleStore } from '../../exports/store/bundle-store.ts';
import { openBundleStore } from '../../exports/store/open-bundle-store.ts';
import { type AuditProgress, auditStore, type DomainAudit } from '../../exports/store/verify-store.ts';
import { sizeText } from '../../rules/text.ts';
import {
  type CommandContext,
  type CommandFile,
  type ExitCode,
  exitCodes,
  loadContextConfig,
  noSuchThing,
  type Output,
  type Paint,
} from '../context.ts';
import { bar } from '../terminal/progress.ts';
import { interruptible } from '../terminal/prompts.ts';
import { indent } from '../terminal/text.ts';

export default {
  verify: (command, run) =>
    command
      .argument('[domain]', 'domain of a site; default: all in the store')
      .addHelpText(
        'after',
        '\nReads every published byte and changes nothing. Exit code 1 unless every version is good.',
      )
      .action(run(verifyStore)),
} satisfies CommandFile;

async function verifyStore(context: CommandContext, domain?: string): Promise<ExitCode> {
  const { output } = context;
  const config = await loadContextConfig(context);
  const store = await openBundleStore(config.store.bundles);
  const domains = await domainsToVerify(store, config, domain?.toLowerCase());
  const audits = await output.showing((live) => {
    const onProgress = progressLine(output, (step) => live.show('verify', step));
    return interruptible('what was read so far says nothing about the rest', (signal) =>
      auditStore(store, domains, { signal, onProgress }),
    );
  });
  const ok = audits.every(isGood);
  output.result(documentOf(store, audits, ok), textOf(store, audits, output.paint));
  return ok ? exitCodes.done : exitCodes.failed;
}

/** Domains in the store, configured or not. One that is configured but never published is no mistake. */
async function domainsToVerify(store: BundleStore, config: Config, wanted: string | undefined): Promise<string[]> {
  const stored = await store.domains();
  if (wanted === undefined) return stored;
  const configured = config.organizations.flatMap(({ sites }) => sites.map(({ domain }) => domain));
  if (stored.includes(wanted)) return [wanted];
  if (configured.includes(wanted)) return [];
  const known = [...new Set([...stored, ...configured])].slice(0, 20).join(', ');
  throw noSuchThing('UnknownDomain', `${wanted} is neither in ${store.place} nor configured`, `known: ${known}`);
}

/** On a terminal a bar, elsewhere a line for each finished version. */
function progressLine(output: Output, show: (step: { key: string; text: string; line: string }) => void) {
  let done = 'begin';
  let line = 'reading';
  return ({ domain, version, bytes, totalBytes, audit }: AuditProgress) => {
    if (audit !== null) {
      done = `${domain}/${version}`;
      line = `${domain} ${version} ${audit.state}`;
    }
    const percent = totalBytes === 0 ? 100 : (bytes / totalBytes) * 100;
    const text = `${bar(percent, output.paintNotes)} ${sizeText(bytes)} of ${sizeText(totalBytes)}, ${domain} ${version}`;
    show({ key: done, text, line });
  };
}

function isGood({ reasons, versions }: DomainAudit): boolean {
  return reasons.length === 0 && versions.every(({ state }) => state === 'good');
}

function documentOf(store: BundleStore, domains: readonly DomainAudit[], ok: boolean): object {
  const versions = domains.flatMap((domain) => domain.versions);
  const bytes = versions.reduce((sum, version) => sum + version.bytes, 0);
  return { ok, store: store.place, checked: { versions: versions.length, bytes }, domains };
}

function textOf(store: BundleStore, audits: readonly DomainAudit[], paint: Paint): string {
  const worstFirst = [...audits].sort((one, other) => Number(isGood(one)) - Number(isGood(other)));
  const lines = worstFirst.flatMap(({ domain, current, reasons, versions }) => {
    const bad = versions.filter(({ state }) => state !== 'good');
    const good = versions.length - bad.length;
    const summary = `${good} of ${versions.length} versions good, current ${current ?? 'none'}`;
    const details = [
      ...reasons.map((reason) => `${paint.red('pointer')}  ${reason}`),
      ...bad.map((version) => `${paint.red(version.state)}  ${version.version}: ${version.reasons.join('; ')}`),
    ];
    return [`${domain}: ${summary}`, ...details.map(indent)];
  });
  const verdict = audits.every(isGood) ? paint.green('good') : paint.red('not good');
  return [`${store.place}: ${audits.length === 0 ? 'nothing published yet' : verdict}`, ...lines].join('\n');
}
