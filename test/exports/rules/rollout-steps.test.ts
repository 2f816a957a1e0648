import { expect, it } from 'vitest';
import {
  type RolloutStep,
  refusal,
  returnedResults,
  returnReasons,
  rolloutResults,
  type StepTaken,
  type TargetSteps,
  takeBack,
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
const takeAll = (answers: Record<string, Answer>) =>
  takeSteps(targets, async ({ target, step }) => taken(target, step, answers[`${target} ${step}`] ?? 'ok'));

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

const ruled = (results: ReturnType<typeof returnReasons>) => results.map(({ rule, detail }) => `${rule}: ${detail}`);
const back = (outcome: 'rolled-out' | 'failed', ...names: string[]) =>
  names.map((target) => ({ target, outcome, detail: outcome === 'failed' ? 'disk full' : 'ok' }));

it.each<[string, Record<string, Answer>, string[]]>([
  ['the first check refuses the version', { 'a check': 'version' }, ['a']],
  ['a later target does', { 'c place': 'version' }, ['a', 'b', 'c']],
  ['one before runs it since an earlier run', { 'a place': 'current', 'b run': 'version' }, ['a', 'b']],
  ['one before failed by itself, perhaps half-way', { 'a place': 'target', 'b run': 'version' }, ['a', 'b']],
])('when %s, what was reached returns, and nothing else', async (_what, answers, expected) => {
  const order: string[] = [];
  const results = await takeBack(targets, await takeAll(answers), async ({ target, step }) => {
    order.push(`${target} ${step}`);
    return taken(target, step, step === 'check' ? 'version' : 'ok');
  });
  expect(results.map(({ target }) => target)).toEqual(expected);
  expect(order).toEqual(
    expected.flatMap((name) => targets.find(({ target }) => target === name)?.steps.map((step) => `${name} ${step}`)),
  );
});

it('says what became of the site, a return that failed first', () => {
  const refused = taken('b', 'run', 'version');
  const results = [...back('rolled-out', 'a'), { ...refused, outcome: 'failed' as const }];
  const whole = { version: 'v1', results: back('rolled-out', 'a', 'b') };
  expect(ruled(returnReasons(refused, whole))).toEqual(['check-failed: b: run version; the site is back at v1']);
  expect(returnedResults(results, whole)).toMatchObject([
    { target: 'a', outcome: 'failed', detail: 'runs v1 again' },
    { target: 'b', outcome: 'failed', detail: 'runs v1 again; run version' },
  ]);
  const half = { version: 'v1', results: [...back('rolled-out', 'a'), ...back('failed', 'b')] };
  expect(ruled(returnReasons(refused, half))).toEqual([
    'return-failed: current.json is back at v1, but not b (disk full)',
    'check-failed: b: run version',
  ]);
  expect(returnedResults(results, half)[1]?.detail).toBe('the return to v1 failed: disk full; run version');
  expect(ruled(returnReasons(refused, { problem: 'the store is away' }))).toEqual([
    'return-failed: the site could not return to the version before: the store is away',
    'check-failed: b: run version',
  ]);
  expect(ruled(returnReasons(refused, { version: null, results: [] }))).toEqual([
    'check-failed: b: run version; no earlier version is left, so nothing is current',
  ]);
  expect(returnedResults(results, { version: null, results: [] })).toEqual(results);
});
