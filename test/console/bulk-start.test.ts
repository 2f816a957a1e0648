import { expect, it } from 'vitest';
import { planBulk, runBulk, selectedIn } from '../../src/console/actions.ts';
import { ConsoleReader } from '../../src/console/readings/console-reader.ts';
import type { Operator } from '../../src/operations/operator.ts';
import { fakeSetting } from '../tools/console/fake-setting.ts';

const [running = '', quiet = ''] = ['docs.acme.example', 'api.acme.example'];
const form = new URLSearchParams();
for (const domain of [running, quiet]) {
  form.append('schedule', `export:acme:${domain}`);
  form.append('site', `acme/${domain}`);
}

function readerOf() {
  return new ConsoleReader(fakeSetting({ calls: [], auditEntries: [] }, { domains: [running, quiet] }));
}

it('a start of many skips what runs when it is planned', async () => {
  const reader = readerOf();
  const work = { workflowId: `export:acme:${running}`, runId: 'r', phase: null };
  const value = { facts: { live: { running: [work] } } };
  Object.assign(reader.overview, { get: async () => ({ value }) });
  const items = await planBulk(reader, 'start', selectedIn(reader, form));
  expect(items.map(({ field, skipped }) => [field.value, skipped])).toEqual([
    [`acme/${running}`, true],
    [`acme/${quiet}`, false],
    [`export:acme:${running}`, true],
    [`export:acme:${quiet}`, false],
  ]);
});

it('a start of many counts apart what ran already', async () => {
  const operator = {
    startExport: async ({ domain }: { domain: string }) => ({ joined: domain === running }),
    triggerSchedule: async ({ domain }: { domain: string }) => ({ alreadyRunning: domain === running }),
  } as unknown as Operator;
  const explain = () => expect.fail();
  const said = await runBulk('start', selectedIn(readerOf(), form), { id: 'i', form, operator, explain });
  expect(said).toBe('Started 2 of 4, 2 running already.');
});
