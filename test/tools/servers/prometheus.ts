import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** A program of Prometheus on the PATH; null where it is not installed. */
export function prometheusProgram(name: 'prometheus' | 'promtool'): string | null {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file)) ?? null;
}

/** Runs promtool; throws with what it said when it ends with another exit code than 0. */
export function promtool(...args: string[]): string {
  const program = prometheusProgram('promtool');
  if (program === null) throw new Error('promtool is not installed');
  return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

/** One series of an instant query. */
interface Sample {
  metric: Record<string, string>;
  value: [number, string];
}

/** A Prometheus with a configuration of its own, on loopback. */
export class PrometheusServer {
  readonly #child: ChildProcess;
  readonly #url: string;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.#url = url;
  }

  static async start(configFile: string, dataFolder: string, port: number): Promise<PrometheusServer> {
    const address = `127.0.0.1:${port}`;
    const args = [
      `--config.file=${configFile}`,
      `--storage.tsdb.path=${dataFolder}`,
      `--web.listen-address=${address}`,
    ];
    const child = spawn(prometheusProgram('prometheus') ?? 'prometheus', args, { stdio: 'ignore' });
    const server = new PrometheusServer(child, `http://${address}`);
    while (!(await server.#isReady())) {
      if (child.exitCode !== null) throw new Error(`prometheus ended with ${child.exitCode}`);
      await sleep(100);
    }
    return server;
  }

  /** The result of an instant query; throws with Prometheus's message when it cannot be evaluated. */
  async query(expression: string): Promise<Sample[]> {
    const { result } = await this.#get<{ result: Sample[] }>(`query?query=${encodeURIComponent(expression)}`);
    return result;
  }

  /** All alerting rules, by name. */
  async rules(): Promise<{ name: string; state: string; health: string; lastError?: string }[]> {
    const { groups } = await this.#get<{ groups: { rules: { name: string; state: string; health: string }[] }[] }>(
      'rules',
    );
    return groups.flatMap(({ rules }) => rules);
  }

  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    if (this.#child.exitCode === null) await once(this.#child, 'exit');
  }

  async #isReady(): Promise<boolean> {
    return fetch(`${this.#url}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  }

  async #get<Data>(path: string): Promise<Data> {
    const answer = await fetch(`${this.#url}/api/v1/${path}`);
    const { data, error } = (await answer.json()) as { data: Data; error?: string };
    if (error !== undefined) throw new Error(`${path}: ${error}`);
    return data;
  }
}
