import { budgetClientOf } from '../budget/client.ts';
import type { BundleStoreConfig, Config } from '../config/config.ts';
import { locationText } from '../exports/store/bundle-store.ts';
import { openBundleStore } from '../exports/store/open-bundle-store.ts';
import { feedbackPrivacy } from '../feedback/privacy/privacy.ts';
import type { FeedbackStore } from '../feedback/store/feedback-store.ts';
import { openAudit, openFeedbackStore } from '../feedback/store/open-feedback-store.ts';
import { type Access, Installation } from '../operations/installation.ts';
import { Operator } from '../operations/operator.ts';
import { connectClient, failoverFor } from '../temporal/connection.ts';
import { type CommandContext, loadContextConfig } from './context.ts';
import { explainFailure } from './explain-failure.ts';
import { type ActorFlags, actorOf } from './flags.ts';
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
    askWorker: (client, ask, withinMs) => askWorker(client, taskQueue, ask, withinMs),
  };
}

/** Reaches Temporal and the stores for as long as the work takes. */
export async function withInstallation<Result>(
  config: Config,
  work: (installation: Installation) => Promise<Result>,
): Promise<Result> {
  const installation = new Installation(accessOf(config));
  return work(installation).finally(() => installation.close());
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
  return withInstallation(config, async (installation) => {
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
    }
  });
}

/** Opens the configured feedback store for as long as the work takes. Throws `FeedbackStoreUnavailable`. */
export async function withFeedbackStore<Result>(
  config: Config,
  work: (store: FeedbackStore) => Promise<Result>,
): Promise<Result> {
  const store = await openFeedbackStore(config.store.feedback, feedbackPrivacy(config.privacy));
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Where the configured bundle store is, for people. */
export function bundlePlace(bundles: BundleStoreConfig): string {
  return bundles.kind === 'directory' ? bundles.directory : locationText(bundles);
}
