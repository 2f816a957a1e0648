import type { StoreFacts } from '../../../src/feedback/rules/fact-queries.ts';
import type { PassOutline, PassSlice } from '../../../src/feedback/rules/slice.ts';
import { everything } from '../../../src/feedback/rules/slice.ts';

/** The facts of a test, as they are: without waiting for a store. */
export type KnownFacts = {
  [Name in keyof StoreFacts]?: (...about: Parameters<StoreFacts[Name]>) => Awaited<ReturnType<StoreFacts[Name]>>;
};

/** Makes a decision with these facts: its result, and the facts it needed. Throws for one that is not among them. */
export async function decided<Result>(
  decide: (facts: StoreFacts) => Promise<Result>,
  known: KnownFacts = {},
): Promise<{ result: Result; needed: string[] }> {
  const needed: string[] = [];
  const facts = new Proxy(known, {
    get:
      (_, name: keyof StoreFacts) =>
      async (...about: never[]) => {
        const answer: ((...about: never[]) => unknown) | undefined = known[name];
        if (answer === undefined) throw new Error(`the decision needed ${name}`);
        needed.push(name);
        return answer(...about);
      },
  });
  return { result: await decide(facts as object as StoreFacts), needed };
}

export const passStart = '2026-11-21T08:00:00.000Z';

export function outline(over: Partial<PassOutline>): PassOutline {
  return { pass: 'sweep', dateFrom: null, dateTo: null, startedAt: passStart, pages: 1, ...over };
}

/** A slice that was read to its end, one page of a walk over everything unless told otherwise. */
export function readSlice(over: Partial<PassSlice> = {}): PassSlice {
  return {
    ...everything,
    stage: 'read',
    expectedPages: null,
    slice: 1,
    outcome: 'read',
    startedAt: passStart,
    pages: 1,
    entries: 2,
    repeats: 0,
    order: 'newest',
    oldestSeen: '2026-11-01T00:00:00.000Z',
    newestSeen: '2026-11-20T00:00:00.000Z',
    reached: '2026-11-01T00:00:00.000Z',
    undatedPlace: 'first',
    joinsAt: null,
    slackMs: 0,
    lastCursor: null,
    lastDigest: 'd',
    barrenPages: 0,
    ...over,
  };
}
