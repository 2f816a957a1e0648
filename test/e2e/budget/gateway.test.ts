import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import axios from 'axios';
import { afterEach, describe, expect, it } from 'vitest';
import { budgetView } from '../../../src/budget/client.ts';
import { startSync } from '../../../src/operations/syncs.ts';
import { listen } from '../../service/http-server.ts';
import { docferryJson } from '../../tools/cli/run-docferry.ts';
import {
  addClients,
  ForeignProgram,
  startGatewayProcess,
  tokenOf,
  withAnalyticsAt,
} from '../../tools/gateway-scene.ts';
import { type Scene, setScene } from '../../tools/scene.ts';

let scene: Scene;
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await scene?.end();
});

const analytics = () => scene.sandbox.log().filter(({ kind }) => kind === 'analytics');
const path = (project: string) => `/v1/analytics/${project}/feedback?limit=5`;

const curlLoop = `while :; do
  curl -s -o /dev/null -w '%{http_code}\\n' -H "Authorization: Bearer $TOKEN" "$URL" || true
  sleep 0.05
done`;
const pythonLoop = `
import os, time
try:
    import requests
    def get(url, headers): return requests.get(url, headers=headers).status_code
except ImportError:
    import urllib.request, urllib.error
    def get(url, headers):
        try: return urllib.request.urlopen(urllib.request.Request(url, headers=headers)).status
        except urllib.error.HTTPError as error: return error.code
while True:
    try: print(get(os.environ['URL'], {'Authorization': 'Bearer ' + os.environ['TOKEN']}), flush=True)
    except OSError: print(0, flush=True)
    time.sleep(0.05)
`;

function start(program: ForeignProgram): ForeignProgram {
  ends.push(() => program.end());
  return program;
}

/** Repeats a step until the test ends. */
function until(step: () => Promise<void>): void {
  let isOver = false;
  const loop = async () => {
    while (!isOver) {
      await step();
      await sleep(50);
    }
  };
  const done = loop();
  ends.push(() => {
    isOver = true;
    return done;
  });
}

/** A program in this process. */
function axiosLoop(url: string, token: string): number[] {
  const statuses: number[] = [];
  const headers = { Authorization: `Bearer ${token}` };
  until(async () => {
    const answer = await axios.get(url, { headers, validateStatus: () => true }).catch(() => ({ status: 0 }));
    statuses.push(answer.status);
  });
  return statuses;
}

describe('the gateway between foreign programs and passes (B1, B6)', () => {
  it('keeps three programs, two syncs and two gateways within the limit, and each program within its share', async () => {
    const windowMs = 6_000;
    const project = (id: string, entries: number) => ({ id, entries });
    const projects = [
      project('prj_1', 6_000),
      project('prj_2', 6_000),
      ...['prj_curl', 'prj_axios', 'prj_python'].map((id) => project(id, 20)),
    ];
    scene = await setScene({
      sandbox: { organizations: [{ id: 'acme', domains: ['docs.acme.example'], projects }], requests: 20, windowMs },
      budget: '{ requests: 20, window: 6s, arrival: 2s }',
      projects: ['prj_2'],
    });
    await scene.startWorker();
    await addClients(scene, { curl: 'share: 20', axios: 'share: 30, class: refresh', python: 'class: refresh' });
    const first = await startGatewayProcess(scene);
    ends.push(() => first.process.kill('SIGKILL'));
    const second = await startGatewayProcess(scene);
    ends.push(() => second.process.kill('SIGTERM'));

    const { client, taskQueue, org } = scene;
    for (const id of ['prj_1', 'prj_2']) {
      await startSync(client, taskQueue, { org, project: id, pass: 'sweep' });
    }
    const curl = start(
      new ForeignProgram('bash', ['-c', curlLoop], { URL: first.url + path('prj_curl'), TOKEN: tokenOf('curl') }),
    );
    start(new ForeignProgram('bash', ['-c', curlLoop], { URL: second.url + path('prj_curl'), TOKEN: tokenOf('curl') }));
    const python = start(
      new ForeignProgram('python3', ['-c', pythonLoop], {
        URL: second.url + path('prj_python'),
        TOKEN: tokenOf('python'),
      }),
    );
    const answered = axiosLoop(first.url + path('prj_axios'), tokenOf('axios'));

    const names = new Set<string>();
    until(async () => {
      const { holders, waiters } = await budgetView(client, org);
      for (const { workflowId } of [...holders, ...waiters]) names.add(workflowId);
    });
    await sleep(1.5 * windowMs);
    // One gateway dies with what it holds, and comes back: the budget knows what its programs hold.
    await first.process.kill('SIGKILL');
    const again = await startGatewayProcess(scene, { port: first.port });
    ends.push(() => again.process.kill('SIGTERM'));
    await sleep(2.5 * windowMs);

    const most = (id: string) => scene.sandbox.maxInAnyWindow('acme', ({ projectId }) => projectId === id);
    expect(scene.sandbox.maxInAnyWindow('acme')).toBeLessThanOrEqual(20);
    expect(analytics().filter(({ status }) => status === 429)).toEqual([]);
    expect(most('prj_curl')).toBeLessThanOrEqual(4);
    expect(most('prj_axios')).toBeLessThanOrEqual(6);
    const sent = (id: string) => analytics().filter(({ projectId }) => projectId === id).length;
    for (const { id } of projects) expect([id, sent(id) > 0]).toEqual([id, true]);
    expect(curl.statuses()).toContain('200');
    expect(python.statuses()).toContain('200');
    expect(answered).toContain(200);
    // Nothing but answers, refusals of the gateway, and connections refused while it was dead.
    for (const status of [...curl.statuses(), ...python.statuses(), ...answered]) {
      expect([0, 200, 429]).toContain(Number(status));
    }
    const library = spawnSync('python3', ['-c', 'import requests']).status === 0 ? 'requests' : 'urllib';
    const figures = projects.map(({ id }) => `${id} ${sent(id)} (at most ${most(id)})`).join(', ');
    process.stderr.write(
      `  requests in ${(4 * windowMs) / 1_000} s, at most ${scene.sandbox.maxInAnyWindow('acme')} of 20 in any ${windowMs / 1_000} s: ${figures}; Python by ${library}\n`,
    );
    await expect.poll(() => [...names]).toContain('gateway:python');
    const { document } = await docferryJson(['budget', 'show', org, '--config', scene.configFile]);
    expect(document).toMatchObject({
      programs: expect.arrayContaining([
        { workflowId: 'gateway:curl', used: expect.any(Number), share: 20 },
        { workflowId: 'gateway:python', used: expect.any(Number), share: null },
      ]),
    });
    for (const secret of [scene.sandbox.apiKey, tokenOf('curl'), 'limit=5']) {
      expect(again.process.output + second.process.output).not.toContain(secret);
    }
  });

  it('lets an answer larger than its memory flow, also to a slow reader', async () => {
    scene = await setScene();
    await scene.startWorker();
    await addClients(scene, { big: '' });
    const bytes = 2 ** 30;
    const chunk = Buffer.alloc(2 ** 20, 'x');
    const service = http.createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream' });
      let left = bytes;
      const write = () => {
        while (left > 0) {
          left -= chunk.length;
          if (!response.write(chunk)) return;
        }
        response.end();
      };
      response.on('drain', write);
      write();
    });
    const port = await listen(service);
    const configFile = await withAnalyticsAt(scene, `http://127.0.0.1:${port}`);
    const gateway = await startGatewayProcess(scene, { configFile });
    ends.push(() => gateway.process.kill('SIGTERM'));
    const headers = { authorization: `Bearer ${tokenOf('big')}` };
    const receive = (pauseMs: number, upTo: number) =>
      new Promise<number>((resolve, reject) => {
        http.get(gateway.url + path('prj_1'), { headers }, async (response) => {
          let received = 0;
          try {
            for await (const part of response) {
              received += part.length;
              if (pauseMs > 0) await sleep(pauseMs);
              if (received >= upTo) break;
            }
            resolve(received);
          } catch (error) {
            reject(error);
          }
        });
      });
    const memory = async () => {
      const status = await readFile(`/proc/${gateway.process.child.pid}/status`, 'utf8');
      return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
    };
    await receive(0, 2 ** 20);
    const idle = await memory();
    expect(await receive(0, Number.POSITIVE_INFINITY)).toBe(bytes);
    await receive(5, 16 * 2 ** 20);
    expect((await memory()) - idle).toBeLessThan(120);
  });

  it('ends cleanly on SIGTERM: what is coming comes whole, what waits is refused', async () => {
    scene = await setScene({ budget: '{ requests: 1, window: 1h }' });
    await scene.startWorker();
    await addClients(scene, { slow: '' });
    let finish = () => {};
    const service = http.createServer((_request, response) => {
      response.writeHead(200).write('first ');
      finish = () => response.end('last');
    });
    const configFile = await withAnalyticsAt(scene, `http://127.0.0.1:${await listen(service)}`);
    const gateway = await startGatewayProcess(scene, { configFile, maxWait: '1m' });
    const headers = { authorization: `Bearer ${tokenOf('slow')}` };
    const streaming = await fetch(gateway.url + path('prj_1'), { headers });
    const waiting = fetch(gateway.url + path('prj_1'), { headers });
    await expect
      .poll(() => budgetView(scene.client, scene.org).then(({ waiters }) => waiters))
      .toMatchObject([{ workflowId: 'gateway:slow' }]);
    gateway.process.child.kill('SIGTERM');
    expect((await waiting).status).toBe(503);
    finish();
    expect(await streaming.text()).toBe('first last');
    expect(await gateway.process.ended()).toBe(0);
    expect((await budgetView(scene.client, scene.org)).used).toBe(1);
  });
});
