import type { Client } from '@temporalio/client';
import type { Command } from 'commander';
import type { SearchAttributeState } from '../../client/namespace.ts';
import { retentionDays } from '../../model/temporal-terms.ts';
import { searchAttributes } from '../../model/workflow-ids.ts';
import { type CommandContext, loadContextConfig, type RunCommand } from '../context.ts';
import { CliFailure } from '../failures/cli-failure.ts';
import { type ExitCode, exitCodes } from '../failures/exit-codes.ts';
import { cloudCommands, isCloud } from '../temporal/cloud-commands.ts';
import { withTemporal } from '../temporal/session.ts';
import { indent } from '../terminal/text.ts';

interface SetupFlags {
  createNamespace?: boolean;
}

/** A cluster's frontends learn of something new within this time. */
const knownWithinMs = 30_000;

export function addSetup(parent: Command, run: RunCommand): void {
  parent
    .command('setup')
    .description('Prepare a Temporal cluster: namespace and search attributes; on Cloud, print the commands that do it')
    .option('--create-namespace', 'create the namespace when the cluster does not know it')
    .action((flags: SetupFlags) => run((context) => setUp(context, flags)));
}

async function setUp(context: CommandContext, { createNamespace }: SetupFlags): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const { connectOptions } = await import('../../client/temporal-connection.ts');
  const { address } = connectOptions(config.temporal).connection;
  return withTemporal(config, async ({ client }) => {
    const { namespace } = client.options;
    if (isCloud(address)) return tellCloudCommands(context, client, address);
    const created = await ensureNamespace(client, createNamespace === true);
    const { registered, present } = await register(client);
    const document = { ready: true, address, namespace, created, registered, present, missing: [], commands: [] };
    const lines = [
      `namespace ${namespace}: ${created ? `created, closed workflows stay for ${retentionDays} days` : 'was there'}`,
      `search attributes: ${registered.length === 0 ? 'were there' : `registered ${registered.join(', ')}`}`,
    ];
    context.output.result(document, lines.join('\n'));
    return exitCodes.done;
  });
}

/** Whether it had to be created. Throws a failure when it is missing and may not be. */
async function ensureNamespace(client: Client, mayCreate: boolean): Promise<boolean> {
  const { createNamespace, describeNamespace } = await import('../../client/namespace.ts');
  if (await describeNamespace(client)) return false;
  if (!mayCreate) {
    throw new CliFailure({
      code: 'NoNamespace',
      message: `Temporal does not know the namespace ${client.options.namespace}`,
      hint: 'correct temporal.namespace, or create it with --create-namespace',
      exitCode: exitCodes.noSuchThing,
    });
  }
  await createNamespace(client, retentionDays);
  return true;
}

async function register(client: Client): Promise<{ registered: string[]; present: string[] }> {
  const { searchAttributeState } = await import('../../client/namespace.ts');
  const { registerSearchAttributes } = await import('../../embedded/prepare-namespace.ts');
  const { present, missing, mistyped } = await patiently(() => searchAttributeState(client));
  if (mistyped.length > 0) {
    throw new CliFailure({
      code: 'SearchAttributeMistyped',
      message: `these search attributes are not of the type Keyword: ${mistyped.join(', ')}`,
      hint: 'remove them with `temporal operator search-attribute remove`, then run this again',
      exitCode: exitCodes.failed,
    });
  }
  const wanted = Object.fromEntries(missing.map((name) => [name, 'Keyword'] as const));
  await patiently(() => registerSearchAttributes(client.connection, client.options.namespace, wanted));
  await patiently(
    () => searchAttributeState(client),
    (state) => state.missing.length === 0,
  );
  return { registered: missing, present };
}

/** What was created just now is unknown to parts of a cluster for some seconds. */
async function patiently<Result>(work: () => Promise<Result>, enough = (_: Result) => true): Promise<Result> {
  const { grpc, grpcStatus } = await import('../failures/grpc-failure.ts');
  const giveUpAt = Date.now() + knownWithinMs;
  for (;;) {
    try {
      const result = await work();
      if (enough(result) || Date.now() > giveUpAt) return result;
    } catch (error) {
      if (grpcStatus(error)?.code !== grpc.notFound || Date.now() > giveUpAt) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}

/** On Cloud search attributes are not registered through the namespace's own address. */
async function tellCloudCommands({ output }: CommandContext, client: Client, address: string): Promise<ExitCode> {
  const { namespace } = client.options;
  const { present, missing } = await stateOnCloud(client);
  const commands = cloudCommands(namespace, missing);
  const ready = missing.length === 0;
  const document = { ready, address, namespace, created: false, registered: [], present, missing, commands };
  const text = ready
    ? `namespace ${namespace}: all search attributes are there`
    : `namespace ${namespace} is on Temporal Cloud: register the search attributes with\n${indent(commands.join('\n'))}`;
  output.result(document, text);
  return ready ? exitCodes.done : exitCodes.failed;
}

/** All count as missing where the account may not list them. */
async function stateOnCloud(client: Client): Promise<Pick<SearchAttributeState, 'present' | 'missing'>> {
  const { searchAttributeState } = await import('../../client/namespace.ts');
  const { grpc, grpcStatus } = await import('../failures/grpc-failure.ts');
  try {
    return await searchAttributeState(client);
  } catch (error) {
    const refused: readonly unknown[] = [grpc.permissionDenied, grpc.unimplemented];
    if (!refused.includes(grpcStatus(error)?.code)) throw error;
    return { present: [], missing: Object.values(searchAttributes) };
  }
}
