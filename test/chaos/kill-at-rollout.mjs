import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isMainThread } from 'node:worker_threads';

/**
 * Loaded into a built worker by `node --import`: ends it by SIGKILL before a step of a rollout. The steps are those of
 * each place, program and check (its beginning, each question whether it may go on, its end), and each record of the
 * store. Which of them is in the file `kill-at` of KILL_FOLDER: a name for the count, which begins anew with another
 * name, what the names of the steps that count look like, and those before which a worker was killed already; the first
 * other one it is. Not by number, because a slow program is watched more often. Whoever is killed leaves
 * `killed-at` instead.
 */
const folder = process.env.KILL_FOLDER;
// Not for the programs that the worker runs.
delete process.env.NODE_OPTIONS;
let count = { name: '', passed: {} };

function passed(name) {
  const [counted, pattern, ...killed] = order()?.split('\n') ?? [];
  if (counted === undefined || !new RegExp(pattern).test(name)) return;
  if (count.name !== counted) count = { name: counted, passed: {} };
  count.passed[name] = (count.passed[name] ?? 0) + 1;
  const step = `${name} (${count.passed[name]})`;
  if (killed.includes(step)) return;
  writeFileSync(join(folder, 'kill-at'), step);
  renameSync(join(folder, 'kill-at'), join(folder, 'killed-at'));
  process.kill(process.pid, 'SIGKILL');
}

function order() {
  try {
    return readFileSync(join(folder, 'kill-at'), 'utf8');
  } catch {
    return null;
  }
}

const rollout = (file) => import(new URL(`../../dist/src/exports/rollout/${file}.js`, import.meta.url).href);

async function watch(file, name, step) {
  const { prototype } = (await rollout(file))[name];
  const { take } = prototype;
  prototype.take = async function (request) {
    passed(`${step} begins`);
    const asked = {};
    const ask = (question) => async () => {
      asked[question] = (asked[question] ?? 0) + 1;
      // A check asks in every round.
      if (step !== 'check' || asked[question] === 1) passed(`${step}, ${question} ${asked[question]}`);
      await request[question]();
    };
    try {
      return await Reflect.apply(take, this, [{ ...request, guard: ask('guard'), alive: ask('alive') }]);
    } finally {
      passed(`${step} ends`);
    }
  };
}

if (isMainThread) {
  await watch('directory-place', 'DirectoryPlace', 'directory');
  await watch('bucket-place', 'BucketPlace', 'bucket');
  await watch('helm-values-place', 'HelmValuesPlace', 'helmValues');
  await watch('git-place', 'SiteFolder', 'folder in git');
  await watch('git-place', 'GitPlace', 'git');
  await watch('program-step', 'ProgramStep', 'run');
  await watch('check-readers', 'ReadersCheck', 'check');

  const binding = process.binding('fs');
  for (const name of ['rename', 'unlink', 'rmSync']) {
    const original = binding[name];
    if (original === undefined) continue;
    binding[name] = function (...args) {
      const path = String(name === 'rename' ? args[1] : args[0]);
      if (/\/data\/bundles\/[^/]+\/[a-z-]+\.json$/.test(path)) passed(`store: ${basename(path)}`);
      return Reflect.apply(original, this, args);
    };
  }
}
