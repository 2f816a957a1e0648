import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { answers } from '../../../src/local/ports.ts';

/** The program of `NGINX_PATH`, else the one on the PATH or beside it; null, with a word on stderr, where there is none. */
export function nginxProgram(env: NodeJS.ProcessEnv = process.env): string | null {
  const folders = [...(env.PATH ?? '').split(delimiter), '/usr/sbin'];
  const files = [...(env.NGINX_PATH ? [env.NGINX_PATH] : []), ...folders.map((folder) => join(folder, 'nginx'))];
  const found = files.find((file) => existsSync(file));
  if (found === undefined) {
    process.stderr.write('nginx is not installed: tests beside it are SKIPPED (apt-get install nginx-light)\n');
  }
  return found ?? null;
}

/** A real nginx in a folder of its own, with this `http` part, until the returned function is called. */
export async function startNginx(
  program: string,
  { folder, http, port }: { folder: string; http: string; port: number },
): Promise<() => Promise<void>> {
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  await mkdir(join(folder, 'logs'), { recursive: true });
  const configuration = `${process.getuid?.() === 0 ? 'user root;\n' : ''}worker_processes 1;
pid nginx.pid;
error_log logs/error.log;
events {}
http {
access_log off;
${kinds.map((kind) => `${kind}_temp_path ${kind};`).join('\n')}
${http}
}
`;
  await writeFile(join(folder, 'nginx.conf'), configuration);
  const child = spawn(program, ['-p', folder, '-e', 'logs/error.log', '-c', 'nginx.conf', '-g', 'daemon off;'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  while (!(await answers(port))) {
    if (child.exitCode !== null) throw new Error(`nginx has ended: ${said}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return async () => {
    child.kill('SIGTERM');
    await ended;
  };
}
