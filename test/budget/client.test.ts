import { type Client, ServiceError, WorkflowNotFoundError } from '@temporalio/client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BudgetClient, budgetClientOf, InFlight, untilAdmitted } from '../../src/budget/client.ts';
import type { Config } from '../../src/config/config.ts';
import { grpc, hasCode } from '../../src/temporal/connection.ts';
import { settings } from '../tools/window/window-support.ts';

const { resourceExhausted: exhausted, failedPrecondition: precondition, unavailable } = grpc;

/** What the client throws when the server answers with a code of gRPC, as deep as it comes. */
const refusal = (code: number): Error =>
  new Error('Workflow Update failed', {
    cause: new ServiceError('Failed', {
      cause: Object.assign(new Error('refused'), { code, details: '', metadata: {} }),
    }),
  });

describe('InFlight', () => {
  it('lets five updates of a workflow go at a time, the others in their order, and does not count other workflows', async () => {
    const inFlight = new InFlight();
    const started: string[] = [];
    const ends = new Map<string, () => void>();
    const run = (name: string, update: string) =>
      inFlight.run(name, async () => {
        started.push(update);
        await new Promise<void>((resolve) => ends.set(update, resolve));
        return update;
      });
    const all = ['a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'a7'].map((update) => run('budget:a', update));
    const other = run('budget:b', 'b1');
    await expect.poll(() => started).toEqual(['a1', 'a2', 'a3', 'a4', 'a5', 'b1']);
    ends.get('a3')?.();
    expect(await all[2]).toBe('a3');
    await expect.poll(() => started.at(-1)).toBe('a6');
    for (const update of ['a1', 'a2', 'a4', 'a5', 'a6', 'b1']) ends.get(update)?.();
    await expect.poll(() => started.at(-1)).toBe('a7');
    ends.get('a7')?.();
    expect(await Promise.all([...all, other])).toHaveLength(8);
  });

  it('gives the place of an update that failed to the next', async () => {
    const inFlight = new InFlight();
    const failing = Array.from({ length: 5 }, () => inFlight.run('a', () => Promise.reject(new Error('no'))));
    const next = inFlight.run('a', async () => 'done');
    await Promise.allSettled(failing);
    expect(await next).toBe('done');
  });
});

describe('untilAdmitted', () => {
  beforeEach(() => {
    // The pauses are real ones: only how long it has tried is not.
    vi.useFakeTimers({ toFake: ['performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Sends an update that the server always refuses with this code, each time so much later; tells how often. */
  async function refusedWith(code: number, stepMs: number): Promise<{ sent: number; error: unknown }> {
    let sent = 0;
    const send = () => {
      sent += 1;
      vi.advanceTimersByTime(stepMs);
      return Promise.reject(refusal(code));
    };
    const error = await untilAdmitted(send).catch((reason: unknown) => reason);
    return { sent, error };
  }

  it('sends again what the server refused while others were under way', async () => {
    const send = vi.fn().mockRejectedValueOnce(refusal(exhausted)).mockRejectedValueOnce(refusal(precondition));
    expect(await untilAdmitted(send.mockResolvedValue('granted'))).toBe('granted');
    expect(send).toHaveBeenCalledTimes(3);
  });

  it('gives a crowd a minute, a workflow that nobody works for five seconds', async () => {
    const crowd = await refusedWith(exhausted, 20_000);
    expect(crowd.sent).toBe(3);
    expect(hasCode(crowd.error, exhausted)).toBe(true);
    expect((await refusedWith(precondition, 2_000)).sent).toBe(3);
  });

  it('does not send again what failed for another reason', async () => {
    expect(await refusedWith(unavailable, 1)).toMatchObject({ sent: 1 });
  });
});

describe('budgetClientOf', () => {
  /** A Temporal without budgets: what the first message to one starts it with. */
  async function started(store: { restoredAt: Date | null; finishedAt: string }) {
    const missing = async () => {
      throw new WorkflowNotFoundError('none', 'budget:acme', '');
    };
    const starts: { workflowTaskTimeout?: number; args: unknown[] }[] = [];
    const workflow = {
      getHandle: () => ({ executeUpdate: missing, describe: missing }),
      async executeUpdateWithStart(_update: unknown, options: { startWorkflowOperation: { options: never } }) {
        starts.push(options.startWorkflowOperation.options);
        return { configuredAt: null };
      },
    };
    const config = {
      organizations: [{ id: 'acme', budget: settings }],
      temporal: { address: 'localhost:7233', taskQueue: 'docferry', failover: 'fast' },
    } as unknown as Config;
    const { restoredAt, finishedAt } = store;
    const traces = { restoredAt, listPasses: async () => [{ requests: 1, finishedAt }] };
    await budgetClientOf({ workflow } as unknown as Client, config, (work) => work(traces)).configure('acme');
    return starts[0];
  }

  it('starts a budget by the failover and the latest sign of an earlier ledger: a pass, or a restored store (B7)', async () => {
    const finishedAt = '2026-11-22T10:00:00.000Z';
    const restoredAt = new Date('2026-11-22T12:00:00.000Z');
    const start = await started({ restoredAt, finishedAt });
    expect(start).toMatchObject({
      workflowTaskTimeout: 2_000,
      args: [{ org: 'acme', settings: { failover: 'fast' }, earlierGrantAt: restoredAt.getTime() }],
    });
    expect((await started({ restoredAt: null, finishedAt }))?.args).toMatchObject([
      { earlierGrantAt: Date.parse(finishedAt) },
    ]);
  });
});

describe('move', () => {
  const movedAt = Date.parse('2026-11-22T10:00:00.000Z');
  const minuteMs = 60_000;

  /** A budget on another task queue, and a server that fails to start its successor `failures` times. */
  function elsewhere(paused: { since: number; until: number | null } | null, failures: number) {
    const ledger = { now: movedAt, paused };
    const starts: { carried: typeof ledger }[] = [];
    const handle = {
      describe: async () => ({ status: { name: 'RUNNING' }, taskQueue: 'other' }),
      query: async () => ({ ...ledger }),
      async executeUpdate(_update: unknown, { args: [{ forMs }] }: { args: [{ forMs: number | null }] }) {
        ledger.paused = { since: ledger.now, until: forMs === null ? null : ledger.now + forMs };
      },
    };
    let left = failures;
    const workflow = {
      getHandle: () => handle,
      async start(_type: string, { args: [input] }: { args: [{ carried: typeof ledger }] }) {
        left -= 1;
        if (left >= 0) throw refusal(unavailable);
        starts.push(input);
      },
    };
    const withDeadline = (_at: number, work: () => Promise<unknown>) => work();
    const client = { workflow, withDeadline } as unknown as Client;
    return { budgets: new BudgetClient(client, 'own', new Map([['acme', settings]])), ledger, starts };
  }

  it('leaves no pause behind that only a person could end, if the new budget cannot be started', async () => {
    const { budgets, ledger, starts } = elsewhere(null, 1);
    await expect(budgets.move('acme')).rejects.toThrow('Workflow Update failed');
    expect(ledger.paused).toEqual({ since: movedAt, until: movedAt + 5 * minuteMs });
    expect(await budgets.move('acme')).toBe('moved');
    expect(starts[0]?.carried.paused?.until).toBe(movedAt + 5 * minuteMs);
  });

  it.each([
    ['until resumed', null],
    ['for longer than moving takes', movedAt + 60 * minuteMs],
  ])('keeps the pause of a person, %s', async (_, until) => {
    const { budgets, ledger, starts } = elsewhere({ since: movedAt, until }, 1);
    await expect(budgets.move('acme')).rejects.toThrow('Workflow Update failed');
    expect(ledger.paused?.until).toBe(until);
    expect(await budgets.move('acme')).toBe('moved');
    expect(starts[0]?.carried.paused).toEqual({ since: movedAt, until });
  });

  it('takes the ledger of a budget that grants nothing, and not the pause made for that', async () => {
    const { budgets, ledger, starts } = elsewhere(null, 0);
    expect(await budgets.move('acme')).toBe('moved');
    expect(ledger.paused?.until).toBe(movedAt + 5 * minuteMs);
    expect(starts[0]?.carried.paused).toBeNull();
  });
});
