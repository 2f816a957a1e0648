import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { newPace } from '../../../../src/feedback/rules/refresh/pace.ts';
import { openSqliteFeedbackStore } from '../../../../src/feedback/store/sqlite-store.ts';
import { docferry, docferryJson, folderWithConfig } from '../../../tools/cli/run-docferry.ts';
import { entry, wholePass } from '../../../tools/feedback/temporary-store.ts';
import { setScene } from '../../../tools/scene.ts';

const hourMs = 3_600_000;

it('budget plan says how late feedback will be, by project and by share, without Temporal and the service', async () => {
  const cwd = await folderWithConfig();
  const store = await openSqliteFeedbackStore(join(cwd, 'data/feedback.db'));
  const now = Date.now();
  const entries = Array.from({ length: 1_250 }, (_, index) =>
    entry(`${index}`, {
      createdAt: new Date(now - index * hourMs).toISOString(),
      status: index % 10 === 0 ? 'pending' : 'resolved',
    }),
  );
  await wholePass(store, 'p', entries);
  await store.prepareRefresh('acme', ['prj_1'], now);
  await store.close();

  const { document, exitCode } = await docferryJson(['budget', 'plan'], { cwd });
  expect(exitCode).toBe(0);
  const delay = expect.any(Number);
  const delays = { newMs: delay, newMostMs: delay, statusMs: delay, silentMs: delay };
  expect(document).toMatchObject({
    org: 'acme',
    limit: 40,
    reserve: 4,
    windowMs: hourMs / 2,
    expected: delays,
    projects: [{ project: 'prj_1', intervalMs: delay, ...delays }],
    unread: [],
    otherClients: 0,
    othersUnknown: expect.stringContaining('Temporal'),
  });
  const { shares } = document as { shares: { share: number; newMs: number; silentMs: number }[] };
  expect(shares.map(({ share }) => share)).toEqual([0.25, 0.5, 0.75, 0.9]);
  expect([...shares].sort((a, b) => b.silentMs - a.silentMs)).toEqual(shares);
  expect(shares[0]?.newMs).toBeGreaterThan(shares[3]?.newMs ?? 0);
  const { stdout } = await docferry(['budget', 'plan'], { cwd });
  expect(stdout).toMatch(
    /^At 50 % of the 36 of 40 requests in 30 min that the reserve leaves, 1 project: new entries after .+ on average \(95 %: .+\), changes of status .+, silent edits and deletions .+/,
  );
  expect(stdout).toMatch(/prj_1 .* min/);
  expect(stdout).toMatch(/90 % .* min/);
  expect(stdout).toContain('what other clients use now is unknown, and taken to be nothing: ');

  const again = await openSqliteFeedbackStore(join(cwd, 'data/feedback.db'));
  await again.saveRefreshPace('acme', { ...newPace(now), others: { requests: 30, at: Date.now() + hourMs } });
  await again.close();
  const beside = (await docferry(['budget', 'plan'], { cwd })).stdout;
  expect(beside).toMatch(/^At 50 % of the 10 of 40 requests in 30 min that other clients leave, 1 project: /);
  expect(beside).toContain('taken to be 30 of 40, as last seen: ');
});

it('budget plan asks the budget what other clients use and what was set by hand', async () => {
  const scene = await setScene();
  onTestFinished(() => scene.end());
  await scene.startWorker();
  const { document } = await docferryJson(['budget', 'plan', '--config', scene.configFile]);
  expect(document).toMatchObject({ otherClients: 0, othersUnknown: null, override: null });

  const set = ['budget', 'set', scene.org, '--requests', '4', '--config', scene.configFile];
  expect((await docferry(set)).exitCode).toBe(0);
  const { document: beside } = await docferryJson(['budget', 'plan', '--config', scene.configFile]);
  expect(beside).toMatchObject({
    limit: (document as { limit: number }).limit,
    override: { requests: 4, until: null },
  });
  expect((await docferry(['budget', 'plan', '--config', scene.configFile])).stdout).toMatch(
    /in force now, set by hand: 4 requests until reset, by .+; the plan is for the limit of docferry.yaml, which holds without it/,
  );
});

it('budget plan names projects that have not been read yet', async () => {
  const { document } = await docferryJson(['budget', 'plan'], { cwd: await folderWithConfig() });
  expect(document).toMatchObject({ projects: [], unread: ['prj_1'], expected: { newMs: null, silentMs: null } });
});
