import { expect, it } from 'vitest';
import {
  type RolloutStep,
  refusal,
  returnFrom,
  rolloutResults,
  type StepTaken,
  type TargetSteps,
  takeSteps,
} from '../../../src/exports/rules/rollout-steps.ts';

const targets: TargetSteps[] = [
  { target: 'a', steps: ['place', 'run', 'check'] },
  { target: 'b', steps: ['run'] },
  { target: 'c', steps: ['place'] },
];

type Answer = 'ok' | 'current' | 'version' | 'target';

function taken(target: string, step: RolloutStep, answer: Answer): StepTaken {
  const detail = `${step} ${answer}`;
  if (answer === 'ok') return { target, step, outcome: 'rolled-out', detail };
  if (answer === 'current') return { target, step, outcome: 'already-current', detail };
  return { target, step, outcome: 'failed', detail, blames: answer };
}

/** All steps; those that are not named succeed. */
const takeAll = (answers: Record<string, Answer>, goesOn?: () => boolean) =>
  takeSteps(
    targets,
    async ({ target, step }) => taken(target, step, answers[`${target} ${step}`] ?? 'ok'),
    [],
    () => {},
    goesOn,
  );

it('a version at which a site is held reaches the targets behind one that refuses it', async () => {
  const steps = await takeAll({ 'a run': 'version' }, () => true);
  expect(steps.map(({ target, step }) => `${target} ${step}`)).toEqual(['a place', 'a run', ...others]);
});

async function run(
  answers: Record<string, Answer>,
): Promise<{ order: string[]; results: string[]; refused: string | null }> {
  const steps = await takeAll(answers);
  const results = rolloutResults(targets, steps).map(({ target, outcome, detail }) => `${target} ${outcome} ${detail}`);
  const refused = refusal(steps);
  return {
    order: steps.map(({ target, step }) => `${target} ${step}`),
    results,
    refused: refused && `${refused.target} ${refused.step}`,
  };
}

const others = ['b run', 'c place'];

it.each<[string, Record<string, Answer>, string[], string[], string | null]>([
  ['all is well', {}, ['a place', 'a run', 'a check', ...others], ['a rolled-out place ok; run ok; check ok'], null],
  [
    'the version runs already',
    { 'a place': 'current' },
    ['a place', ...others],
    ['a already-current place current'],
    null,
  ],
  ['the disk is full', { 'a place': 'target' }, ['a place', ...others], ['a failed place target'], null],
  [
    'a program fails, and the check decides for the version',
    { 'a run': 'target' },
    ['a place', 'a run', 'a check', ...others],
    ['a rolled-out place ok; run target; check ok'],
    null,
  ],
  [
    'readers do not get it',
    { 'a check': 'version' },
    ['a place', 'a run', 'a check'],
    ['a failed check version'],
    'a check',
  ],
  ['the program refuses it', { 'a run': 'version' }, ['a place', 'a run'], ['a failed run version'], 'a run'],
  [
    'a program fails, and nothing checks',
    { 'b run': 'target' },
    ['a place', 'a run', 'a check', ...others],
    ['a rolled-out place ok; run ok; check ok', 'b failed run target'],
    null,
  ],
])('%s', async (_what, answers, order, results, refused) => {
  const found = await run(answers);
  expect(found.order).toEqual(order);
  expect(found.results.slice(0, results.length)).toEqual(results);
  expect(found.refused).toBe(refused);
  // What a refused version did not reach has no result.
  if (refused !== null) expect(found.results).toHaveLength(1);
});

/** How a site that had v1 returns from v2; the steps of the return succeed unless they are named. */
async function goBack(
  answers: Record<string, Answer>,
  again: Record<string, Answer> = {},
  before: string | null = 'v1',
) {
  const steps = await takeAll(answers);
  const refused = refusal(steps);
  if (refused === null) throw new Error('no step refuses the version');
  const order: string[] = [];
  const { rollouts, held, reasons } = await returnFrom('v2', steps, refused, {
    targets,
    moveBack: async (reason) => {
      order.push(reason);
      if (before === 'away') throw new Error('the store is away');
      return before;
    },
    takeWith:
      (version) =>
      async ({ target, step }) => {
        order.push(`${version} ${target} ${step}`);
        return taken(target, step, again[`${target} ${step}`] ?? 'ok');
      },
    problemOf: (error) => (error as Error).message,
  });
  return { order, rollouts, held, reasons: reasons.map(({ rule, detail }) => `${rule}: ${detail}`) };
}

it.each<[string, Record<string, Answer>, string[]]>([
  ['the first check refuses the version', { 'a check': 'version' }, ['a']],
  ['a later target does', { 'c place': 'version' }, ['a', 'b', 'c']],
  ['one before runs it since an earlier run', { 'a place': 'current', 'b run': 'version' }, ['a', 'b']],
  ['one before failed by itself, perhaps half-way', { 'a place': 'target', 'b run': 'version' }, ['a', 'b']],
])('when %s, what was reached returns, and nothing else', async (_what, answers, expected) => {
  const { order, rollouts } = await goBack(answers, { 'a check': 'version' });
  expect(rollouts.map(({ target }) => target)).toEqual(expected);
  expect(order.slice(1)).toEqual(
    expected.flatMap((name) =>
      targets.find(({ target }) => target === name)?.steps.map((step) => `v1 ${name} ${step}`),
    ),
  );
});

it('says what became of the site, a return that failed first', async () => {
  const refused = { 'b run': 'version' } as const;
  const whole = await goBack(refused);
  expect(whole.order[0]).toBe('b: run version');
  expect(whole).toMatchObject({ held: 'v1', reasons: ['check-failed: b: run version; the site is back at v1'] });
  expect(whole.rollouts).toMatchObject([
    { target: 'a', outcome: 'failed', detail: 'runs v1 again' },
    { target: 'b', outcome: 'failed', detail: 'runs v1 again; run version' },
  ]);
  const half = await goBack(refused, { 'b run': 'target' });
  expect(half).toMatchObject({
    held: 'v1',
    reasons: ['return-failed: current.json is back at v1, but not b (run target)', 'check-failed: b: run version'],
  });
  expect(half.rollouts[1]?.detail).toBe('the return to v1 failed: run target; run version');
  const unreturned = [
    { target: 'a', outcome: 'rolled-out' },
    { target: 'b', outcome: 'failed', detail: 'run version' },
  ];
  expect(await goBack(refused, {}, 'away')).toMatchObject({
    held: null,
    reasons: [
      'return-failed: the site could not return to the version before: the store is away',
      'check-failed: b: run version',
    ],
    rollouts: unreturned,
  });
  expect(await goBack(refused, {}, null)).toMatchObject({
    held: 'v2',
    reasons: ['check-failed: b: run version; no earlier version is left, so nothing is current'],
    rollouts: unreturned,
  });
});

it('ends a detail that is cut with an ellipsis', () => {
  const targets = [{ target: 'a', steps: ['place'] as const }];
  const taken = [{ target: 'a', step: 'place' as const, outcome: 'failed' as const, detail: 'x'.repeat(500) }];
  const [result] = rolloutResults(targets, taken);
  expect(result?.detail).toBe(`${'x'.repeat(299)}…`);
});
