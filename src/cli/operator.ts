import { budgetClientOf } from '../budget/client.ts';
import type { Config } from '../config/config.ts';
import { openBundleStore } from '../exports/store/open-bundle-store.ts';
import { feedbackPrivacy } from '../feedback/privacy/privacy.ts';
import { openAudit, openFeedbackStore } from '../feedback/store/open-feedback-store.ts';
import { type Access, Installation } from '../operations/installation.ts';
import { Operator } from '../operations/operator.ts';
import { connectClient, failoverFor } from '../temporal/connection.ts';
import { type ActorFlags, actorOf } from './actor.ts';
import { type CommandContext, loadContextConfig } from './context.ts';
import { explainFailure } from './explain-failure.ts';
import { withFeedbackStore } from './stores.ts';
import { onInterrupt } from './terminal/prompts.ts';
import { askWorker } from './waiting.ts';

/** How the configured installation is reached. */
export function accessOf(config: Config): Access {
  const { store, privacy, temporal } = config;
  const { taskQueue } = temporal;
  return {
    taskQueue,
    // What works on a store alone needs no settings of Temporal.
    get failover() {
      return failoverFor(temporal);
    },
    connect: () => connectClient(temporal),
    openFeedback: () => openFeedbackStore(store.feedback, feedbackPrivacy(privacy)),
    openBundles: () => openBundleStore(store.bundles),
    openAudit: () => openAudit(store.feedback),
    budgets: (client) => budgetClientOf(client, config, (work) => withFeedbackStore(config, work)),
    askWorker: (client, ask) => askWorker(client, taskQueue, ask),
  };
}

/** Acts as the person who called a command. */
export async function withOperator<Result>(
  context: CommandContext,
  flags: ActorFlags,
  work: (session: { config: Config; operator: Operator }) => Promise<Result>,
  { bulk = false } = {},
): Promise<Result> {
  const config = await loadContextConfig(context);
  return actingOn(config, context, flags, (operator) => work({ config, operator }), { bulk });
}

/** Like `withOperator`, of a configuration that is loaded. A warning says what the audit lacks; the action stays done. */
export async function actingOn<Result>(
  config: Config,
  { output }: Pick<CommandContext, 'output'>,
  flags: ActorFlags,
  work: (operator: Operator) => Promise<Result>,
  { bulk = false } = {},
): Promise<Result> {
  const installation = new Installation(accessOf(config));
  const operator = new Operator(installation, actorOf(flags), { bulk });
  try {
    return await work(operator);
  } finally {
    // What was done needs its audit entry: the first Ctrl-C waits for it, the second ends the program.
    const interrupt = onInterrupt();
    const lacking = await operator.end().finally(interrupt.dispose);
    if (lacking !== null) {
      const { message, hint } = explainFailure(lacking.error);
      const why = hint === null ? message : `${message.replace(/\.$/, '')}. ${hint}`;
      output.warn(`it is done, but \`docferry audit\` will not show it: ${why}`);
    }
    await installation.close();
  }
}
