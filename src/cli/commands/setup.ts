import type { Client } from '@temporalio/client';
import { registerSearchAttributes } from '../../local/prepare-namespace.ts';
import { searchAttributes } from '../../rules/workflow-ids.ts';
import { connectOptions, grpc, hasCode } from '../../temporal/connection.ts';
import {
  createNamespace,
  describeNamespace,
  type SearchAttributeState,
  searchAttributeState,
} from '../../temporal/namespace.ts';
import { retentionDays } from '../../temporal/rules/failover.ts';
import {
  CliFailure,
  type CommandContext,
  type CommandFile,
  type ExitCode,
  exitCodes,
  loadContextConfig,
  operationFailure,
} from '../context.ts';
import { withTemporal } from '../session.ts';
import { indent } from '../terminal/text.ts';

export default {
  setup: (command, run) =>
    command.option('--create-namespace', 'create the namespace if it does not exist').action(run(setUp)),
} satisfies CommandFile;

/** Whether the address belongs to Temporal Cloud, for access by certificate or by API key. */
export function isCloud(address: string): boolean {
  return /\.(tmprl\.cloud|api\.temporal\.io)(:\d+)?$/i.test(address);
}

/** Temporal Cloud's commands that register the missing search attributes as Keyword. */
export function cloudCommands(namespace: string, missing: readonly string[]): string[] {
  if (missing.length === 0) return [];
  const attributes = missing.map((name) => `--search-attribute "${name}=Keyword"`).join(' ');
  return [`tcld namespace search-attributes add --namespace ${namespace} ${attributes}`];
}

/** A cluster's frontends learn of something new within this time. */
const knownWithinMs = 30_000;

async function setUp(context: CommandContext, flags: { createNamespace?: boolean }): Promise<ExitCode> {
  const config = await loadContextConfig(context);
  const { address } = connectOptions(config.temporal).connection;
  return withTemporal(config, async ({ client }) => {
    const { namespace } = client.options;
    if (isCloud(address)) return tellCloudCommands(context, client, address);
    const created = await ensureNamespace(client, flags.createNamespace === true);
    const { registered, present } = await register(client);
    const document = { ready: true, address, namespace, created, registered, present, missing: [], commands: [] };
    const lines = [
      `namespace ${namespace}: ${created ? `created, closed workflows stay for ${retentionDays} days` : 'exists'}`,
      `search attributes: ${registered.length === 0 ? 'all registered already' : `registered ${registered.join(', ')}`}`,
    ];
    context.output.result(document, lines.join('\n'));
    return exitCodes.done;
  });
}

/** Returns whether it was created. Throws a failure when it is missing and may not be created. */
async function ensureNamespace(client: Client, mayCreate: boolean): Promise<boolean> {
  if (await describeNamespace(client)) return false;
  if (!mayCreate) {
    const message = `Temporal does not know the namespace ${client.options.namespace}`;
    const hint = 'correct temporal.namespace, or create it with --create-namespace';
    throw new CliFailure({ code: 'NoNamespace', message, hint, exitCode: exitCodes.usage });
  }
  await createNamespace(client, retentionDays);
  return true;
}

async function register(client: Client): Promise<{ registered: string[]; present: string[] }> {
  const { present, missing, mistyped } = await patiently(() => searchAttributeState(client));
  if (mistyped.length > 0) {
    throw operationFailure(
      'SearchAttributeMistyped',
      `these search attributes are not of the type Keyword: ${mistyped.join(', ')}`,
      'remove them with `temporal operator search-attribute remove`, then run this again',
    );
  }
  await patiently(() => registerSearchAttributes(client.connection, client.options.namespace, missing));
  await patiently(
    () => searchAttributeState(client),
    (state) => state.missing.length === 0,
  );
  return { registered: missing, present };
}

/** For some seconds parts of a cluster do not know new attributes. */
async function patiently<Result>(work: () => Promise<Result>, enough = (_: Result) => true): Promise<Result> {
  const giveUpAt = Date.now() + knownWithinMs;
  for (;;) {
    try {
      const result = await work();
      if (enough(result) || Date.now() > giveUpAt) return result;
    } catch (error) {
      if (!hasCode(error, grpc.notFound) || Date.now() > giveUpAt) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}

/** On Cloud, search attributes cannot be registered through the namespace's own address. */
async function tellCloudCommands({ output }: CommandContext, client: Client, address: string): Promise<ExitCode> {
  const { namespace } = client.options;
  const { present, missing } = await stateOnCloud(client);
  const commands = cloudCommands(namespace, missing);
  const ready = missing.length === 0;
  const document = { ready, address, namespace, created: false, registered: [], present, missing, commands };
  const text = ready
    ? `namespace ${namespace}: all search attributes are registered`
    : `namespace ${namespace} is on Temporal Cloud: register the search attributes with\n${indent(commands.join('\n'))}`;
  output.result(document, text);
  return ready ? exitCodes.done : exitCodes.failed;
}

/** If the account may not list them, all count as missing. */
async function stateOnCloud(client: Client): Promise<Pick<SearchAttributeState, 'present' | 'missing'>> {
  try {
    return await searchAttributeState(client);
  } catch (error) {
    if (!hasCode(error, grpc.permissionDenied, grpc.unimplemented)) throw error;
    return { present: [], missing: Object.values(searchAttributes) };
  }
}
