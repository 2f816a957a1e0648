import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { ArchiveFormat } from '../../../../src/exports/rules/site-export.ts';
import type { AcceptedArchive, Oracle } from './oracle.ts';
import { type Tree, treeOnDisk } from './tree.ts';

/** Readers show names as they are only in such a locale. */
export const environment = { ...process.env, LC_ALL: 'C.UTF-8' };

interface Waiting {
  resolve: (answer: string) => void;
  reject: (error: Error) => void;
}

/**
 * A program that stays and unpacks one archive after the other: it gets lines `format TAB archive TAB folder`, and answers
 * each with a line, `ok` or what went wrong.
 */
export class CommandOracle implements Oracle {
  readonly name: string;
  readonly version: string;
  readonly formats: readonly ArchiveFormat[];
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #waiting: Waiting[] = [];

  constructor(
    { name, version, formats }: Pick<Oracle, 'name' | 'version' | 'formats'>,
    [program = '', ...args]: readonly string[],
  ) {
    this.name = name;
    this.version = version;
    this.formats = formats;
    this.#child = spawn(program, args, { env: environment, detached: true });
    this.#child.stderr.resume();
    this.#child.on('error', (error) => this.#fail(error));
    this.#child.on('exit', (code) => this.#fail(new Error(`${name} ended with ${code}`)));
    createInterface(this.#child.stdout).on('line', (line) => this.#waiting.shift()?.resolve(line));
  }

  async read({ format, file }: AcceptedArchive, folder: string): Promise<Tree> {
    mkdirSync(folder);
    const answer = await new Promise<string>((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#child.stdin.write(`${format}\t${file}\t${folder}\n`);
    });
    if (answer !== 'ok') throw new Error(answer.replaceAll(folder, '').replaceAll(file, ''));
    return treeOnDisk(folder);
  }

  close(): void {
    this.#child.stdin.end();
  }

  #fail(error: Error): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}

/** A loop of the shell that runs a command for each archive, given as `$format`, `$archive` and `$folder`. */
export function shellLoop(command: string): string[] {
  const script = `tab=$(printf '\\t'); newline='
'
while IFS="$tab" read -r format archive folder; do
  message=$(${command} 2>&1 >/dev/null)
  status=$?
  if [ $status = 0 ]; then echo ok; else printf '%s\\n' "exit code $status: \${message%%"$newline"*}"; fi
done`;
  return ['sh', '-c', script];
}
