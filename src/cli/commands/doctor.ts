import type { Command } from 'commander';
import type { CommandContext, RunCommand } from '../context.ts';
import { type Check, skipped } from '../doctor/check.ts';
import { type ExitCode, exitCodes } from '../failures/exit-codes.ts';
import { packageVersion } from '../input/package-file.ts';
import type { Paint } from '../terminal/output.ts';
import { printable } from '../terminal/text.ts';

const longestText = 1_000;

interface DoctorFlags {
  key?: boolean;
}

export function addDoctor(parent: Command, run: RunCommand): void {
  parent
    .command('doctor')
    .description('Check this set-up, and say how to mend what is wrong; run it where the workers run')
    .option('--key', 'have a worker try each API key, for at most one request of the budget an organization')
    .action((flags: DoctorFlags) => run((context) => examine(context, flags)));
}

async function examine(context: CommandContext, { key }: DoctorFlags): Promise<ExitCode> {
  const checks = await allChecks(context, key === true);
  const ok = checks.every(({ level }) => level !== 'error');
  const document = {
    ok,
    checks: checks.map(({ name, level, detail, fix }) => ({ name, ok: isFine(level), level, detail, fix })),
  };
  const width = Math.max(...checks.map(({ name }) => name.length));
  const lines = checks.map((check) => lineOf(check, width, context.output.paint));
  context.output.result(document, lines.join('\n'));
  if (!key) context.output.note('the service was not asked; `docferry doctor --key` tries the API keys');
  return ok ? exitCodes.done : exitCodes.failed;
}

async function allChecks(context: CommandContext, askTheService: boolean): Promise<Check[]> {
  const { env } = context;
  const { installationCheck } = await import('../doctor/check-installation.ts');
  const { checkConfiguration } = await import('../doctor/check-configuration.ts');
  const { certificateAuthoritiesCheck } = await import('../doctor/check-certificate-authorities.ts');
  const { proxyCheck } = await import('../doctor/check-proxy.ts');
  const { linksCheck } = await import('../doctor/check-links.ts');
  const { askService, keyCheck } = await import('../doctor/check-keys.ts');
  const { webhookChecks } = await import('../doctor/check-webhooks.ts');
  const { checkStores } = await import('../doctor/check-stores.ts');
  const { checkTargets } = await import('../doctor/check-rollout-targets.ts');
  const { checkBrowsers } = await import('../doctor/check-browsers.ts');
  const { checkTemporal } = await import('../doctor/check-temporal.ts');

  const { config, check: configuration } = await checkConfiguration(context);
  const service = config?.service ?? null;
  const temporal = await checkTemporal(config);
  try {
    const general = [
      installationCheck({ node: process.versions.node, docferry: packageVersion() }),
      configuration,
      certificateAuthoritiesCheck(env.NODE_EXTRA_CA_CERTS, new Date()),
      proxyCheck(env, service, temporal.address),
      ...temporal.checks,
    ];
    if (!config) {
      const others = ['api-key', 'bundle-links', 'feedback-store', 'bundle-store', 'rollout'];
      return [...general, ...others.map((name) => skipped(name, 'it needs the configuration'))];
    }
    const sites = config.organizations.flatMap((organization) => organization.sites);
    return [
      ...general,
      ...config.organizations.map(keyCheck),
      ...config.organizations.flatMap(webhookChecks),
      ...(askTheService ? await askService(config, temporal) : []),
      linksCheck(config.service),
      ...(await checkStores(config)),
      ...(await checkBrowsers(config)),
      ...(await Promise.all(sites.map(checkTargets))).flat(),
    ];
  } finally {
    await temporal.client?.connection.close();
  }
}

function isFine(level: Check['level']): boolean {
  return level === 'ok' || level === 'warning';
}

function lineOf({ name, level, detail, fix }: Check, width: number, paint: Paint): string {
  const colours = { ok: paint.green, warning: paint.yellow, error: paint.red, skipped: paint.dim };
  const line = `${colours[level](level.padEnd(7))}  ${name.padEnd(width)}  ${printable(detail, longestText)}`;
  return fix === null ? line : `${line}. ${paint.cyan('Fix:')} ${printable(fix, longestText)}`;
}
