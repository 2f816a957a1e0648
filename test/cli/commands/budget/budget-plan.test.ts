import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { parseDuration } from '../../../../src/config/field-schemas.ts';
import { type ProjectStory, storeStories } from '../../../tools/cli/planned-scene.ts';
import { configText, docferry, docferryJson, folderWithConfig } from '../../../tools/cli/run-docferry.ts';

function organization(projects: readonly string[]): string {
  return `  - id: acme
    apiKey: dk_admin_secret_of_acme
    budget: { requests: 100, window: 1h, reserve: 20 }
    projects:
${projects.map((project) => `      - ${project}`).join('\n')}
`;
}

async function scene(projects: readonly string[], stories: readonly ProjectStory[] = []): Promise<string> {
  const cwd = await folderWithConfig({ organizations: organization(projects) });
  await storeStories(cwd, stories);
  return cwd;
}

/** A busy and a quiet project whose schedules need more than the hour has. */
const crowded = [
  '{ id: busy, incremental: { every: 5m, jitter: 30s }, sweep: { every: 1h } }',
  '{ id: quiet, incremental: { every: 1m }, sweep: { cron: "0 3 * * 0", timezone: Europe/Berlin } }',
];
const crowdedStories: ProjectStory[] = [
  { project: 'busy', perDay: 200, runs: { incremental: [3, 4, 3], sweep: [82] } },
  { project: 'quiet', perDay: 2, runs: { incremental: [1, 1], sweep: [1] } },
];

describe('budget plan', () => {
  it('says that the hour does not suffice, what to stretch, and what to write into docferry.yaml', async () => {
    const cwd = await scene(crowded, crowdedStories);
    const { exitCode, stdout, stderr } = await docferry(['budget', 'plan'], { cwd });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toContain('plan for acme: 100 requests an hour, 20 left to others');
    expect(stdout).toMatch(/busy +incremental +5m +3\.3 +40 /);
    expect(stdout).toMatch(/busy +sweep +1h +82 +82 /);
    expect(stdout).toMatch(/quiet +sweep +0 3 \* \* 0 Europe\/Berlin +1 .* as it is /);
    expect(stdout).toContain('busy: 6000 entries, 200 new entries a day over 28 days');
    expect(stdout).toMatch(/busy sweep: \d+ of \d+ starts are skipped because the previous run is still going/);
    expect(stdout).toContain('the hour does not suffice: the schedules need 182 of 80 requests on average');
    expect(stdout).toMatch(
      /stretch busy incremental from 5m to \d+m, busy sweep from 1h to \d+m, quiet incremental from 1m to/,
    );
    expect(stdout).toMatch(
      /with the proposed intervals: 6\d(\.\d)? of 80 requests on average, \d+ in the fullest hour/,
    );
    expect(stdout).toMatch(/a new entry then reaches the store after .* on average; today after /);
    expect(stdout.split('\n')[1]).toMatch(/^the hour does not suffice/);
    for (const secret of ['dk_admin', '/docs/start']) expect(stdout).not.toContain(secret);

    // What it says to write is taken by the configuration, and then nothing more is proposed.
    const proposed = parse(stdout.slice(stdout.indexOf('organizations:')).replaceAll(/^ {2}/gm, ''));
    const [busy, quiet] = proposed.organizations[0].projects;
    expect(proposed.organizations[0].id).toBe('acme');
    expect(busy.incremental.jitter).toBe('30s');
    expect(parseDuration(busy.incremental.every)).toBeGreaterThan(300_000);
    expect(Object.keys(quiet)).toEqual(['id', 'incremental']);
    const projects = [JSON.stringify(busy), JSON.stringify({ ...quiet, sweep: { cron: '0 3 * * 0' } })];
    await writeFile(join(cwd, 'docferry.yaml'), configText({ organizations: organization(projects) }));
    const { document } = await docferryJson(['budget', 'plan'], { cwd });
    expect(document).toMatchObject({ verdict: 'waits', proposed: null });
  });

  it('is one JSON document', async () => {
    const cwd = await scene(crowded, crowdedStories);
    const { exitCode, stderr, document } = await docferryJson(['budget', 'plan', 'acme'], { cwd });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const outlook = {
      starts: expect.any(Number),
      requestsPerRun: expect.any(Number),
      perWindow: expect.any(Number),
      stalenessMs: expect.any(Number),
      longestRunMs: expect.any(Number),
      skipped: expect.any(Number),
    };
    const whole = {
      perWindow: expect.any(Number),
      fullest: { from: expect.stringMatching(/Z$/), requests: expect.any(Number) },
      stalenessMs: expect.any(Number),
    };
    const schedule = (project: string, pass: string, every: string | null, cron: string | null, runs: number) => ({
      project,
      pass,
      every,
      cron,
      timezone: cron === null ? null : 'Europe/Berlin',
      observedRuns: runs,
      ...outlook,
      proposed: { every: every === null ? null : expect.stringMatching(/^\d+[mh]$/), ...outlook },
    });
    expect(document).toEqual({
      org: 'acme',
      limit: 100,
      reserve: 20,
      windowMs: 3_600_000,
      available: 80,
      verdict: 'exceeds',
      hopeless: null,
      horizonMs: 28 * 86_400_000,
      now: whole,
      proposed: whole,
      projects: [
        { project: 'busy', entries: 6_000, newPerDay: expect.closeTo(200, 0), observedDays: 28 },
        { project: 'quiet', entries: 60, newPerDay: expect.closeTo(2, 0), observedDays: 28 },
      ],
      schedules: [
        schedule('busy', 'incremental', '5m', null, 3),
        schedule('busy', 'sweep', '1h', null, 1),
        schedule('quiet', 'incremental', '1m', null, 2),
        schedule('quiet', 'sweep', null, '0 3 * * 0', 1),
      ],
    });
  });

  it('says what is assumed before the first sync, and what is not scheduled', async () => {
    const cwd = await scene([
      '{ id: new, incremental: { every: 15m }, sweep: { every: 7d } }',
      '{ id: "7", sweep: { every: 7d } }',
    ]);
    const { exitCode, stdout } = await docferry(['budget', 'plan'], { cwd });
    expect(exitCode).toBe(0);
    expect(stdout).toContain('new: nothing observed yet: assumed 10 new entries a day, 1000 in all');
    expect(stdout).toMatch(/new +sweep +7d +~10 /);
    expect(stdout).toContain('~ no run has completed yet: estimated, not observed');
    expect(stdout).toContain('7: no incremental passes, so only the other passes bring in new entries');
    expect(stdout).toContain('the hour suffices: 4.1 of 80 requests on average');
    expect(stdout).toContain('reaches the store after 2 min 30 s on average; today after 7 min 30 s');
    expect(stdout).toContain('- id: new\n          incremental: { every: 5m }');
  });

  it('says so when nothing is scheduled', async () => {
    const { exitCode, stdout } = await docferry(['budget', 'plan'], { cwd: await folderWithConfig() });
    expect(exitCode).toBe(0);
    expect(stdout).toContain('plan for acme: 40 requests a window of 30 min, 4 left to others');
    expect(stdout).toContain('prj_1: nothing is scheduled');
    expect(stdout).toContain('nothing is scheduled: docferry sends requests only when a person starts a sync');
  });

  it('says that nothing needs to change', async () => {
    const cwd = await scene(
      ['{ id: p, incremental: { every: 5m }, sweep: { every: 7d } }'],
      [{ project: 'p', perDay: 20, runs: { incremental: [1], sweep: [8] } }],
    );
    const { stdout } = await docferry(['budget', 'plan'], { cwd });
    expect(stdout).toContain('the hour suffices: 12');
    expect(stdout).toContain('the intervals can stay as they are');
    expect(stdout).not.toContain('docferry.yaml');
  });

  it('names the run that takes long when many coincide, and says when cron leaves nothing to stretch', async () => {
    const stories: ProjectStory[] = [{ project: 'p', perDay: 20, runs: { incremental: [1], sweep: [250] } }];
    const cwd = await scene(['{ id: p, incremental: { every: 5m }, sweep: { every: 7d } }'], stories);
    const { stdout } = await docferry(['budget', 'plan'], { cwd });
    expect(stdout).toMatch(
      /the hour suffices on average: 13\.5 of 80 requests on average, but the fullest needs 26\d \(.* UTC\); p sweep then takes 3 h/,
    );
    const cron = organization(['{ id: p, incremental: { every: 5m }, sweep: { cron: "0 * * * *" } }']);
    await writeFile(join(cwd, 'docferry.yaml'), configText({ organizations: cron }));
    const hopeless = await docferry(['budget', 'plan'], { cwd });
    expect(hopeless.exitCode).toBe(0);
    expect(hopeless.stdout).toContain('no intervals help: the cron schedules alone take too many requests');
    expect(hopeless.stdout).not.toContain('In docferry.yaml');
  });

  it('ends with 2 when none of several organizations is named, and with 4 when one is not configured', async () => {
    const cwd = await scene(['{ id: p }']);
    expect((await docferry(['budget', 'plan', 'globex'], { cwd })).exitCode).toBe(4);
    const two = `${organization(['{ id: p }'])}  - id: globex\n    apiKey: dk_admin_other\n    projects: [{ id: q }]\n`;
    await writeFile(join(cwd, 'docferry.yaml'), configText({ organizations: two }));
    expect((await docferry(['budget', 'plan'], { cwd })).exitCode).toBe(2);
    expect((await docferry(['budget', 'plan', 'globex'], { cwd })).exitCode).toBe(0);
  });
});
