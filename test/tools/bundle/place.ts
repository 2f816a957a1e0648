import { observe, type RolloutRequest, type RolloutTarget } from '../../../src/exports/rollout/rollout-target.ts';

/** The version that a target or a place runs; null for none and for unknown. */
export async function versionOf(what: RolloutTarget | NonNullable<RolloutTarget['place']>): Promise<string | null> {
  const found = await ('observe' in what ? what.observe() : observe(what));
  return found.runs === 'version' ? found.version : null;
}

/** Of a request that nobody stops, to a place of which nothing is known. */
export const unguarded = {
  previous: null,
  guard: async () => {},
  alive: async () => {},
} satisfies Partial<RolloutRequest>;
