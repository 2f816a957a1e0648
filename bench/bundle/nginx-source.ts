import { spawn, spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findFreePort } from '../../src/local/ports.ts';

export interface Source {
  /** What it is, for the table. */
  name: string;
  /** Address of a file of the folder, unlimited. */
  free(file: string): string;
  /** Address of the same file, each connection limited to 20 MB/s. */
  limited(file: string): string;
  stop(): Promise<void>;
}

export const limitMb = 20;

/** nginx serving a folder on a free port of this machine, in processes of its own; null where there is no nginx. */
export async function startNginx(folder: string): Promise<Source | null> {
  if (spawnSync('nginx', ['-v']).status !== 0) return null;
  const work = join(folder, 'nginx');
  await mkdir(work, { recursive: true });
  const port = await findFreePort();
  const temps = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((use) => `${use}_temp_path ${work}/${use};`);
  const limit = Math.round((limitMb * 1e6) / 1024);
  const config = `daemon off;
worker_processes 1;
pid ${work}/pid;
error_log ${work}/error.log;
events { worker_connections 256; }
http {
  access_log off;
  sendfile on;
  ${temps.join('\n  ')}
  server {
    listen 127.0.0.1:${port};
    location /free/ { alias ${folder}/; }
    location /limited/ { alias ${folder}/; limit_rate ${limit}k; }
  }
}
`;
  const file = join(work, 'nginx.conf');
  await writeFile(file, config);
  const child = spawn('nginx', ['-e', join(work, 'error.log'), '-c', file], { stdio: 'ignore' });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const base = `http://127.0.0.1:${port}`;
  for (let tries = 0; tries < 50 && !(await answers(`${base}/free/`)); tries += 1) await sleep(100);
  return {
    name: 'nginx',
    free: (name) => `${base}/free/${name}`,
    limited: (name) => `${base}/limited/${name}`,
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

async function answers(url: string): Promise<boolean> {
  return fetch(url).then(
    () => true,
    () => false,
  );
}
