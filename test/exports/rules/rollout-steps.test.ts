import { expect, it } from 'vitest';
import {
  nextStep,
  type RolloutStep,
  refusal,
  rolloutResults,
  type StepTaken,
  type TargetSteps,
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

/** Takes steps until none is left; those that are not named succeed. */
function run(answers: Record<string, Answer>): { order: string[]; results: string[]; refused: string | null } {
  const steps: StepTaken[] = [];
  for (let next = nextStep(targets, steps); next !== null; next = nextStep(targets, steps)) {
    steps.push(taken(next.target, next.step, answers[`${next.target} ${next.step}`] ?? 'ok'));
  }
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
])('%s', (_what, answers, order, results, refused) => {
  const found = run(answers);
  expect(found.order).toEqual(order);
  expect(found.results.slice(0, results.length)).toEqual(results);
  expect(found.refused).toBe(refused);
  // What a refused version did not reach has no result.
  if (refused !== null) expect(found.results).toHaveLength(1);
});
