import { cp, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inBatches } from '../../../src/temporal/runs.ts';
import { exportScenes } from './export-scenes.ts';
import { feedbackScenes } from './feedback-scenes.ts';
import type { RecordingScene } from './record-scene.ts';
import { saveRuns } from './saved-history.ts';
import { startRecordingServer } from './server.ts';
import { type Stage, setStage } from './stage.ts';

const folder = 'test/histories';
/** Scenes at a time: they wait most of the time. */
const atOnce = 4;
/** Events after which the second server suggests to continue as new. */
const longHistory = 40;

/**
 * Plays the scenes against the sandbox and saves what Temporal has recorded of them in place of the histories that the
 * replay test uses: `npm run record-histories`, or with names of scenes to save only theirs.
 */
async function recordHistories(wanted: readonly string[]): Promise<void> {
  const scenes = [...exportScenes, ...feedbackScenes];
  const unknown = wanted.filter((name) => !scenes.some((scene) => scene.name === name));
  if (unknown.length > 0) throw new Error(`no scene is called ${unknown.join(', ')}`);
  const played = scenes.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
  const scratch = await mkdtemp(join(tmpdir(), 'docferry-recording-'));
  const [usual, long] = [await startRecordingServer(scratch), await startRecordingServer(scratch, longHistory)];
  try {
    const fresh = join(scratch, 'histories');
    await mkdir(fresh);
    const failures = await inBatches(played, atOnce, (scene) =>
      record(scene, { scratch, fresh, address: (scene.longHistory ? long : usual).address }),
    );
    if (failures.includes(false)) throw new Error('nothing is replaced: not all scenes could be played');
    await replace(fresh, wanted.length === 0);
  } finally {
    await Promise.all([usual.stop(), long.stop()]);
    await rm(scratch, { recursive: true, force: true });
  }
}

interface Place {
  scratch: string;
  fresh: string;
  address: string;
}

/** False when the scene could not be played, after saying why. */
async function record(scene: RecordingScene, { scratch, fresh, address }: Place): Promise<boolean> {
  let stage: Stage | undefined;
  try {
    stage = await setStage(scene.name, scratch, address, scene.settings);
    await stage.startWorker();
    await scene.play(stage);
    const { kept, client } = stage;
    const saved = await inBatches(kept, 1, (run) => saveRuns(client, run, fresh, scratch));
    process.stdout.write(`${scene.name}: ${saved.flat().join(', ')}\n`);
    return true;
  } catch (error) {
    process.stderr.write(`${scene.name}: ${error instanceof Error ? error.stack : error}\n`);
    return false;
  } finally {
    await stage?.end();
  }
}

/** Only after all scenes: a recording that breaks off leaves the old histories. */
async function replace(fresh: string, all: boolean): Promise<void> {
  if (all) await rm(folder, { recursive: true, force: true });
  await cp(fresh, folder, { recursive: true });
  process.stdout.write(`${(await readdir(fresh)).length} histories saved in ${folder}\n`);
}

await recordHistories(process.argv.slice(2));
