import { counted } from '../../rules/text.ts';
import { connectOptions } from '../../temporal/connection.ts';
import { type ReplayedRun, replayNamespace } from '../../temporal/replay.ts';
import {
  type CommandContext,
  type CommandFile,
  type ExitCode,
  exitCodes,
  loadContextConfig,
  operationFailure,
  type Paint,
} from '../context.ts';
import { duration, globOf } from '../flags.ts';
import { withTemporal } from '../session.ts';
import { onInterrupt } from '../terminal/prompts.ts';
import { indent, tableLines } from '../terminal/text.ts';

export default {
  replay: (command, run) =>
    command
      .option('--since <duration>', 'workflows that run or ended within this time; default: 7d', duration('--since'))
      .option('--match <glob>', "only workflows whose id matches, e.g. 'export:*' or '*:acme:*'")
      .addHelpText(
        'after',
        '\nExit code 1 if a history does not replay. Needs read access to Temporal, but no API key.',
      )
      .action(run(replay)),
} satisfies CommandFile;

interface ReplayFlags {
  since?: number;
  match?: string;
}

const usualSinceMs = 7 * 86_400_000;

const mostNamed = 20;

async function replay(context: CommandContext, { since = usualSinceMs, match }: ReplayFlags): Promise<ExitCode> {
  const { output } = context;
  const config = await loadContextConfig(context);
  const matches = globOf(match, false);
  const from = Date.now() - since;
  const { signal, dispose } = onInterrupt();
  const replaying = output.showing((live) => {
    let done = 0;
    const onReplayed = () => {
      done += 1;
      if (done % 100 === 0) live.show('replay', { key: String(done), text: `${done} histories` });
    };
    return withTemporal(config, ({ client }) => replayNamespace(client, { since: from, matches, onReplayed, signal }));
  });
  const runs = await replaying.finally(dispose);
  if (signal.aborted) {
    throw operationFailure(
      'Interrupted',
      `interrupted after ${runs.length} histories, which says nothing about the rest`,
    );
  }
  const types = byType(runs);
  const failures = runs.filter(({ problem }) => problem !== null);
  const ok = failures.length === 0;
  const document = { ok, since: new Date(from).toISOString(), histories: runs.length, types, failures };
  const { namespace } = connectOptions(config.temporal);
  output.result(document, textOf(types, failures, namespace, output.paint));
  return ok ? exitCodes.done : exitCodes.failed;
}

interface TypeCounts {
  type: string;
  histories: number;
  running: number;
  failed: number;
}

function byType(runs: readonly ReplayedRun[]): TypeCounts[] {
  const names = [...new Set(runs.map(({ type }) => type))].sort();
  return names.map((type) => {
    const own = runs.filter((run) => run.type === type);
    const failed = own.filter(({ problem }) => problem !== null);
    return { type, histories: own.length, running: own.filter(({ running }) => running).length, failed: failed.length };
  });
}

function textOf(
  types: readonly TypeCounts[],
  failures: readonly ReplayedRun[],
  namespace: string,
  paint: Paint,
): string {
  if (types.length === 0) return `${namespace}: no workflow of docferry runs or has ended in this time`;
  const rows = types.map(({ type, histories, running, failed }) => [
    type,
    `${histories}`,
    `${running}`,
    failed === 0 ? paint.green('all replay') : paint.red(`${failed} ${failed === 1 ? 'does' : 'do'} not replay`),
  ]);
  const table = tableLines(['workflow', 'histories', 'running', 'with this build'], rows);
  if (failures.length === 0) return table;
  const stopped = failures.filter(({ running }) => running).length;
  return [
    table,
    '',
    ...failures
      .slice(0, mostNamed)
      .flatMap(({ workflowId, runId, running, problem }) => [
        `${paint.red(workflowId)} (run ${runId}, ${running ? 'running' : 'ended'})`,
        indent(problem ?? ''),
      ]),
    ...(failures.length > mostNamed ? [`… and ${failures.length - mostNamed} more; --json names all`] : []),
    '',
    stopped === 0
      ? 'Nothing that runs would stop, but what has ended could be neither queried nor reset.'
      : `This build would stop ${counted(stopped, 'running workflow')}. Do not deploy it: patch the change, or let the old build finish first (docs/upgrading.md).`,
  ].join('\n');
}
