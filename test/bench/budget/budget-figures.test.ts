import { describe, expect, it } from 'vitest';
import { type Arrival, figuresOf } from '../../../bench/budget/budget-figures.ts';

const setting = { requests: 3, windowMs: 1_000, pages: 7, otherClients: 0 };

function arrival(atMono: number, more: Partial<Arrival> = {}): Arrival {
  return { at: atMono, atMono, path: '/v1/analytics/prj_1/feedback', status: 200, fault: null, ...more };
}

describe('the figures of a run', () => {
  it('split the time into the minimum, the lateness of each edge and the last window, with nothing left over', () => {
    const times = [50, 60, 70, 1_055, 1_065, 1_080, 2_075];
    const figures = figuresOf(
      times.map((at) => arrival(at)),
      setting,
    );
    expect(figures).toMatchObject({
      spanMs: 2_025,
      minimumMs: 2_000,
      windowEdges: 2,
      requests: 7,
      throttled: 0,
      mostInWindow: 3,
      edgesLateMs: [5, 20],
      lastWindow: { ms: 0, pages: 1 },
    });
    const { edgesLateMs, lastWindow, minimumMs, spanMs } = figures;
    const late = edgesLateMs.reduce((sum, ms) => sum + ms, 0) + (lastWindow?.ms ?? 0);
    expect(minimumMs + late).toBe(spanMs);
  });

  it('count every request in a window, refused and foreign ones too, and do not split what 429s have broken up', () => {
    const log = [
      arrival(0),
      arrival(1, { path: '/v1/analytics/prj_1/views' }),
      arrival(2),
      arrival(3, { status: 429 }),
      arrival(4, { path: '/v1/analytics/prj_1/views', status: 429 }),
    ];
    expect(figuresOf(log, setting)).toMatchObject({
      requests: 3,
      throttled: 1,
      mostInWindow: 5,
      edgesLateMs: [],
      lastWindow: null,
    });
  });

  it('make room in the minimum for requests that injected faults cost, and for what otherClients burn', () => {
    const log = [0, 1, 2].map((at) => arrival(at));
    const reset = arrival(3, { status: null, fault: 'reset' });
    const error = arrival(4, { status: 500, fault: 'error' });
    expect(figuresOf([...log, reset, error, error], setting).windowEdges).toBe(3);
    expect(figuresOf(log, { ...setting, otherClients: 1 }).windowEdges).toBe(3);
    expect(figuresOf(log, setting).windowEdges).toBe(2);
  });

  it('tell which of the displaced requests the first burst displaced', () => {
    const views = { path: '/v1/analytics/prj_1/views' };
    const log = [
      arrival(0, { ...views, status: 429 }),
      arrival(100),
      arrival(500, { ...views, status: 429 }),
      arrival(1_099, { ...views, status: 429 }),
      arrival(1_100, { ...views, status: 429 }),
      arrival(1_200, views),
    ];
    expect(figuresOf(log, setting).otherClients).toEqual({ requests: 5, displaced: 4, displacedByFirstBurst: 2 });
  });

  it('are all nothing when nothing arrived', () => {
    expect(figuresOf([], setting)).toMatchObject({ spanMs: 0, requests: 0, mostInWindow: 0, lastWindow: null });
  });
});
