import { describe, expect, it } from 'vitest';
import { startWatches } from '../../src/runs/watches.ts';

describe('the watches of a worker that has started', () => {
  it('are all started, those that fail again', async () => {
    const tries: string[] = [];
    const failed: string[] = [];
    await startWatches(
      ['a', 'b', 'c'],
      {
        async start(org) {
          tries.push(org);
          if (org === 'b' && tries.length < 5) throw new Error('Temporal is away');
        },
        onFailure: (org) => failed.push(org),
        stopped: () => false,
      },
      1,
    );
    expect(tries).toEqual(['a', 'b', 'c', 'b', 'b']);
    expect(failed).toEqual(['b', 'b']);
  });

  it('are not insisted on once the worker stops', async () => {
    let stopped = false;
    const start = async () => {
      stopped = true;
      throw new Error('closed');
    };
    const failed: string[] = [];
    await startWatches(['a'], { start, onFailure: (org) => failed.push(org), stopped: () => stopped }, 1);
    expect(failed).toEqual([]);
  });
});
