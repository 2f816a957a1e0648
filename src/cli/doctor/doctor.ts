import type { CommandContext, CommandFile } from '../context.ts';
import { type ExitCode, exitCodes } from '../failure.ts';
import { packageVersion } from '../package-file.ts';
import type { Paint } from '../terminal/output.ts';
import { printable } from '../terminal/text.ts';
import { type Check, skipped } from './check.ts';
import {
  checkBrowsers,
  checkConfiguration,
  checkStores,
  checkTargets,
  installationCheck,
  linksCheck,
  webhookChecks,
} from './check-installation.ts';
import { certificateAuthoritiesCheck, proxyCheck } from './check-network.ts';
import { askService, checkTemporal, keyChecks } from './check-temporal.ts';

export default {
  doctor: (command, run) =>
    command
      .option('--key', 'have a worker test each API key; costs at most one request per organization')
      .action(run(examine)),
} satisfies CommandFile;

const longestText = 1_000;

/** Health checks of this installation, each with its verdict and fix. */
async function examine(context: CommandContext, { key = false }: { key?: boolean }): Promise<ExitCode> {
  const checks = await allChecks(context, key);
  const ok = checks.every(({ level }) => level !== 'error');
  const document = {
    ok,
    checks: checks.map(({ name, level, detail, fix }) => ({ name, ok: isFine(level), level, detail, fix })),
  };
  const width = Math.max(...checks.map(({ name }) => name.length));
  const lines = checks.map((check) => lineOf(check, width, context.output.paint));
  context.output.result(document, lines.join('\n'));
  if (!key) context.output.note('the service was not contacted; `docferry doctor --key` tries the API keys');
  return ok ? exitCodes.done : exitCodes.failed;
}

async function allChecks(context: CommandContext, askTheService: boolean): Promise<Check[]> {
  const { env } = context;
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
      ...(await keyChecks(config, temporal)),
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
