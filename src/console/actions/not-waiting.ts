import type { DeedRecords } from '../../feedback/store/deed-records.ts';
import type { Deed } from '../../runs/rules/audit.ts';
import type { ConsoleReader, KnownSite } from '../readings/console-reader.ts';
import { ConsoleFailure } from '../console-failure.ts';

/**
 * Decides about a version. If it no longer waits, because another person has decided or its time is over, throws a
 * failure that says so and, if the audit knows, who decided.
 */
export async function decide<Answer>(
  reader: ConsoleReader,
  site: KnownSite,
  version: string,
  { ask, waits }: { ask(): Promise<Answer>; waits(): Promise<boolean> },
): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    const { code } = reader.setting.explain(error);
    if ((code !== 'NotRunning' && code !== 'InvalidInput') || (await waits())) throw error;
    const earlier = await decisionOn(await reader.connections.feedback(), site, version).catch(() => null);
    const what = `${version} of ${site.domain}`;
    const message =
      earlier === null
        ? `${what} does not wait for approval any more`
        : `${what} was ${earlier.action === 'approve' ? 'approved' : 'rejected'} by ${earlier.who} at ${utcText(earlier.at)}`;
    throw new ConsoleFailure(
      'Decided',
      `${message}. You changed nothing.`,
      'The page of the site shows what is in service.',
    );
  }
}

/** `2026-11-22 18:07 UTC`, of UTC ISO 8601. */
const utcText = (at: string): string => `${at.slice(0, 16).replace('T', ' ')} UTC`;

async function decisionOn(store: DeedRecords, { org, domain }: KnownSite, version: string): Promise<Deed | null> {
  for await (const deed of store.listDeeds({ org, subject: domain })) {
    const isDecision = deed.action === 'approve' || deed.action === 'reject';
    if (isDecision && JSON.parse(deed.detail).version === version) return deed;
  }
  return null;
}
