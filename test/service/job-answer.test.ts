import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readJobStatus, readPageCount, readProgress, readStartedJob } from '../../src/service/client.ts';

describe('readProgress', () => {
  it.each([
    [0, 0],
    [42, 42],
    [99.5, 99.5],
    [100, 100],
    [0.42, 42],
    ['42%', 42],
    ['42 %', 42],
    ['0.5%', 0.5],
    ['1%', 1],
    ['42', 42],
    ['0.42', 42],
    ['42/100', 42],
    ['21 / 50', 42],
    ['21 of 50', 42],
    [{ percent: 42 }, 42],
    [{ percent: 1 }, 1],
    [{ percentage: '42%' }, 42],
    [{ fraction: 0.42 }, 42],
    [{ fraction: 1 }, 100],
    [{ done: 21, total: 50 }, 42],
    [{ current: 21, total: 50 }, 42],
    [{ completed: 21, total: 50 }, 42],
    [{ done: '21', total: '50' }, 42],
    [{ phase: 'render', done: 0, total: 50 }, 0],
  ])('reads %j as %d percent', (progress, percent) => {
    expect(readProgress(progress)).toBeCloseTo(percent, 10);
  });

  it('leaves a bare 1 open: it may mean 1 % or all', () => {
    expect(readProgress(1)).toBeNull();
    expect(readProgress('1')).toBeNull();
  });

  it.each([
    [undefined],
    [null],
    [-1],
    [101],
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    [''],
    ['half'],
    ['1e1'],
    ['150%'],
    ['5/0'],
    [true],
    [[42]],
    [{}],
    [{ done: 3 }],
    [{ done: 3, total: 0 }],
    [{ done: 30, total: 10 }],
    [{ percent: null }],
  ])('does not guess at %j', (progress) => {
    expect(readProgress(progress)).toBeNull();
  });

  it('never throws and never leaves 0 to 100, whatever it is given', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        for (const progress of [value, { percent: value }, { done: value, total: 10 }, { fraction: value }]) {
          const percent = readProgress(progress);
          expect(percent === null || (percent >= 0 && percent <= 100)).toBe(true);
        }
      }),
    );
  });

  it('reads the same percentage from every shape', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 100 }), (percent) => {
        const shapes = [
          percent,
          `${percent}`,
          `${percent}%`,
          `${percent}/100`,
          { percent },
          { done: percent, total: 100 },
        ];
        for (const shape of shapes) expect(readProgress(shape)).toBeCloseTo(percent, 10);
      }),
    );
  });
});

describe('readPageCount', () => {
  it.each([
    [0, 0],
    [312, 312],
    ['312', 312],
    [{ done: 312, total: 500 }, 312],
    [{ completed: '312' }, 312],
  ])('reads %j as %d pages', (pageCount, pages) => {
    expect(readPageCount(pageCount)).toBe(pages);
  });

  it.each([[undefined], [null], [-1], [1.5], ['many'], [[3]], [{}], [true]])('does not guess at %j', (pageCount) => {
    expect(readPageCount(pageCount)).toBeNull();
  });

  it('never throws', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        const pages = readPageCount(value);
        expect(pages === null || (Number.isSafeInteger(pages) && pages >= 0)).toBe(true);
      }),
    );
  });
});

describe('what enters the history of an export', () => {
  it('is a status of at most 100 characters, without control characters', () => {
    const status = `odd \u001b[2J${'x'.repeat(10_000)}`;
    const job = readJobStatus(JSON.stringify({ jobId: 'job_1', status }), 'job_1', []);
    expect(job.status.length).toBeLessThanOrEqual(101);
    expect(job.status).not.toContain('\u001b');
    expect(job.state).toBe('running');
  });

  it.each(['x'.repeat(201), 'job\u001b[2J'])('is no id like %j', (jobId) => {
    expect(() => readStartedJob(JSON.stringify({ jobId, status: 'queued' }), [])).toThrow('jobId: longer than');
  });
});
