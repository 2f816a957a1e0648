import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Sandbox, startSandbox } from '../../sandbox/index.ts';
import { findFreePort } from '../../src/local/ports.ts';
import type { Failover } from '../../src/temporal/rules/failover.ts';
import { DocferryProcess } from '../tools/docferry-process.ts';

interface ChaosOptions {
  sandbox: NonNullable<Parameters<typeof startSandbox>[0]>;
  /** `budget` of the organization. */
  budget: string;
  failover?: Failover;
  /** More lines of docferry.yaml, and of its organization. */
  config?: string;
  organization?: string;
  /** Its projects. */
  projects?: readonly string[];
}

/** A folder with its configuration, a service to talk to, and processes that are killed and started again. */
export class ChaosScene {
  readonly folder: string;
  readonly sandbox: Sandbox;
  readonly #ports: readonly number[];
  readonly #running: DocferryProcess[] = [];
  #serverPid: number | null = null;

  private constructor(folder: string, sandbox: Sandbox, ports: readonly number[]) {
    this.folder = folder;
    this.sandbox = sandbox;
    this.#ports = ports;
  }

  static async begin({
    sandbox: options,
    budget,
    failover = 'fast',
    config = '',
    organization = '',
    projects = ['prj_1'],
  }: ChaosOptions): Promise<ChaosScene> {
    const folder = await mkdtemp(join(tmpdir(), 'docferry-kill-'));
    const sandbox = await startSandbox(options);
    const ports = [await findFreePort(), await findFreePort(), await findFreePort()];
    await writeFile(
      join(folder, 'docferry.yaml'),
      `temporal: { address: "127.0.0.1:${ports[0]}", failover: ${failover} }
service: { baseUrl: "${sandbox.url}", allowInsecure: true, linkHosts: ["127.0.0.1"] }
${config}
organizations:
  - id: acme
    apiKey: "${sandbox.apiKey}"
    budget: ${budget}
    projects: [${projects.map((id) => `{ id: ${id} }`).join(', ')}]
${organization}
`,
    );
    return new ChaosScene(folder, sandbox, ports);
  }

  get temporalAddress(): string {
    return `127.0.0.1:${this.#ports[0]}`;
  }

  /** `docferry` with these arguments, or another program. */
  start(args: readonly string[], env: NodeJS.ProcessEnv = {}, program?: string): DocferryProcess {
    const child = new DocferryProcess(args, { cwd: this.folder, env, ...(program !== undefined && { program }) });
    this.#running.push(child);
    return child;
  }

  /** `docferry up` with all its parts, once it is ready; the pid of its server too. */
  async up(): Promise<{ process: DocferryProcess; serverPid: number }> {
    const [port, ui, bundles] = this.#ports;
    const up = this.start(['up', '--port', `${port}`, '--ui-port', `${ui}`, '--bundle-port', `${bundles}`]);
    await up.says('docferry: ready');
    const { pid } = JSON.parse(await readFile(join(this.folder, 'data/temporal.db.server.json'), 'utf8'));
    return { process: up, serverPid: pid };
  }

  /** Only the server: `up` is killed and leaves it as an orphan, which goes with the scene. */
  async orphanedServer(): Promise<void> {
    const { process: up, serverPid } = await this.up();
    this.#serverPid = serverPid;
    await up.kill('SIGKILL');
  }

  /** The server dies too, and another goes on with its files. */
  async restartServer(): Promise<void> {
    if (this.#serverPid !== null) process.kill(this.#serverPid, 'SIGKILL');
    await this.orphanedServer();
  }

  async worker(): Promise<DocferryProcess> {
    const worker = this.start(['worker']);
    await worker.says('worker: ready');
    return worker;
  }

  async end(): Promise<void> {
    for (const child of this.#running) await child.kill('SIGTERM');
    if (this.#serverPid !== null) killIfThere(this.#serverPid);
    await this.sandbox.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid);
  } catch {
    // Adopted by a later `up` and gone with it.
  }
}
