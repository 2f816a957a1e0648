import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { Worker } from '@temporalio/worker';
import { DeterminismViolationError } from '@temporalio/workflow';
import { describe, expect, it } from 'vitest';
import { workflowTypes } from '../../src/model/workflow-ids.ts';
import { workflowBundle } from '../tools/temporal/temporal.ts';

const folder = 'test/histories';
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.json'));

interface HistoryJson {
  events: { activityTaskScheduledEventAttributes?: { activityType: { name: string } } }[];
}

const read = (file: string): HistoryJson => JSON.parse(readFileSync(join(folder, file), 'utf8'));

async function replay(history: HistoryJson): Promise<void> {
  await Worker.runReplayHistory({ workflowBundle: workflowBundle() }, historyFromJSON(history), 'recorded');
}

describe('recorded histories of released workflows (X2)', () => {
  it('are there for every workflow', () => {
    const types = new Set(files.map((file) => basename(file).replace(/-\d+\.json$/, '')));
    expect([...types].sort()).toEqual(Object.values(workflowTypes).sort());
  });

  it.each(files)('replay with the current code: %s', async (file) => {
    await replay(read(file));
  });

  it('would not replay if a workflow took another step: the guard works', async () => {
    const file = files.find((name) => basename(name).startsWith('exportSite')) ?? '';
    const history = read(file);
    const step = history.events.find((event) => event.activityTaskScheduledEventAttributes);
    if (step?.activityTaskScheduledEventAttributes) {
      step.activityTaskScheduledEventAttributes.activityType.name = 'anotherActivity';
    }
    await expect(replay(history)).rejects.toThrow(DeterminismViolationError);
  });
});
