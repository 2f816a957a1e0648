import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { runCommand, timeLimit } from '../../../src/local/run-command.ts';

/** The program of `MINISIGN_PATH`, else the one on the PATH; null, with a word on stderr, where there is none. */
export function minisignProgram(env: NodeJS.ProcessEnv = process.env): string | null {
  const onPath = (env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'minisign'));
  const found = [...(env.MINISIGN_PATH ? [env.MINISIGN_PATH] : []), ...onPath].find((file) => existsSync(file));
  if (found === undefined) {
    process.stderr.write('minisign is not installed: tests beside it are SKIPPED (apt-get install minisign)\n');
  }
  return found ?? null;
}

/** The real minisign, with keys and files in one folder. */
export class Minisign {
  readonly #program: string;
  readonly folder: string;

  constructor(program: string, folder: string) {
    this.#program = program;
    this.folder = folder;
  }

  at(name: string): string {
    return join(this.folder, name);
  }

  /** Makes `<name>.key` and `<name>.pub`, with a password if there is one. */
  async makeKey(name: string, password?: string): Promise<void> {
    const files = ['-G', '-f', '-p', this.at(`${name}.pub`), '-s', this.at(`${name}.key`)];
    if (password === undefined) return void (await this.#run([...files, '-W']));
    // It asks twice, and takes the answers from a pipe too. Short of memory it is content with a key that needs less,
    // which opens faster.
    const script = 'ulimit -v 150000; exec "$0" "$@"';
    const input = `${password}\n${password}\n`;
    execFileSync('sh', ['-c', script, this.#program, ...files], { input, stdio: ['pipe', 'ignore', 'ignore'] });
  }

  /** Writes `<file>.minisig`. */
  async sign(file: string, key: string, more: string[] = []): Promise<void> {
    await this.#run(['-S', '-m', this.at(file), '-s', this.at(`${key}.key`), ...more]);
  }

  /** What it prints of a good signature; null when it refuses. */
  async verify(file: string, key: string): Promise<string | null> {
    const args = ['-V', '-m', this.at(file), '-p', this.at(`${key}.pub`)];
    return this.#run(args).catch(() => null);
  }

  async write(name: string, content: string | Buffer): Promise<void> {
    await writeFile(this.at(name), content);
  }

  async #run(args: string[]): Promise<string> {
    const lines = await runCommand(this.#program, args, { env: process.env, signal: timeLimit(60_000) });
    return lines.join('\n');
  }
}
