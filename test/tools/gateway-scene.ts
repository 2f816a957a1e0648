import { type ChildProcess, spawn } from 'node:child_process';
import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findFreePort } from '../../src/local/ports.ts';
import { DocferryProcess } from './docferry-process.ts';
import type { Scene } from './scene.ts';

/** Clients of a gateway in YAML, by name, with fields besides name, token and organization. */
export async function addClients(scene: Scene, clients: Record<string, string>): Promise<void> {
  const lines = Object.entries(clients).map(
    ([name, more]) => `    - { name: ${name}, token: "${tokenOf(name)}", org: ${scene.org}${more && `, ${more}`} }`,
  );
  await appendFile(scene.configFile, `gateway:\n  clients:\n${lines.join('\n')}\n`);
}

export const tokenOf = (name: string): string => `token-of-${name}-0123456789`;

/** `docferry gateway` as a process of its own, once it is ready. */
export async function startGatewayProcess(
  scene: Scene,
  {
    port,
    maxWait = '1s',
    configFile = scene.configFile,
  }: { port?: number; maxWait?: string; configFile?: string } = {},
): Promise<{ url: string; port: number; process: DocferryProcess }> {
  const chosen = port ?? (await findFreePort());
  const args = ['gateway', '--port', `${chosen}`, '--max-wait', maxWait, '--config', configFile];
  const gateway = new DocferryProcess(args, { cwd: scene.folder });
  await gateway.says('gateway: ready');
  return { url: `http://127.0.0.1:${chosen}`, port: chosen, process: gateway };
}

/** The scene's configuration with another service for analytics. */
export async function withAnalyticsAt(scene: Scene, address: string): Promise<string> {
  const file = join(scene.folder, 'elsewhere.yaml');
  const text = await readFile(scene.configFile, 'utf8');
  await writeFile(file, text.replace('allowInsecure: true', `allowInsecure: true, analyticsBaseUrl: "${address}"`));
  return file;
}

/** A foreign program that asks again and again, and prints a status for each answer. */
export class ForeignProgram {
  readonly #child: ChildProcess;
  #said = '';

  constructor(command: string, args: readonly string[], env: Record<string, string>) {
    this.#child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'inherit'] });
    this.#child.stdout?.on('data', (chunk) => {
      this.#said += chunk;
    });
  }

  /** The statuses so far. */
  statuses(): string[] {
    return this.#said.split('\n').filter((line) => line !== '');
  }

  end(): void {
    this.#child.kill('SIGKILL');
  }
}
