import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Help } from 'commander';
import { expect, it } from 'vitest';
import { commands } from '../../src/cli/commands.ts';
import { declared } from '../../src/cli/context.ts';
import { createProgram } from '../../src/cli/run.ts';

const built = fileURLToPath(new URL('../../dist/', import.meta.url));

/** Everything that a list of commands needs: commander, their names and summaries, and what prints. */
const allowed = [
  /^node_modules\/(commander|picocolors|string-width|strip-ansi|ansi-regex|emoji-regex|eastasianwidth|get-east-asian-width)\//,
  /^dist\/src\/cli\/(run|program|commands|context|failure|package-file|terminal\/output)\.js$/,
  /^dist\/src\/rules\/(errors|text)\.js$/,
];

/** A process that records the modules it loads while it prints the help of commands, then prints them to stderr. */
const recorder = `
import { createRequire, register } from 'node:module';
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
const { port1, port2 } = new MessageChannel();
const hooks = \`let port;
export const initialize = (data) => { port = data.port; };
export const load = (url, context, next) => { port.postMessage(url); return next(url, context); };\`;
register('data:text/javascript,' + encodeURIComponent(hooks), { data: { port: port2 }, transferList: [port2] });
const { runDocferry } = await import(process.argv[1]);
for (const args of JSON.parse(process.argv[2])) {
  const exitCode = await runDocferry(args);
  if (exitCode !== 0) throw new Error(args.join(' ') + ' ended with ' + exitCode);
}
const files = Object.keys(createRequire(import.meta.url).cache).map((file) => 'file://' + file);
for (let told = receiveMessageOnPort(port1); told; told = receiveMessageOnPort(port1)) files.push(told.message);
process.stderr.write(JSON.stringify(files));
port1.close();
`;

/** Files below the project's folder that printing the help of these command lines loads. */
function filesLoadedBy(commandLines: readonly string[][]): string[] {
  const args = ['--no-warnings', '--input-type=module', '-e', recorder, `${built}src/cli/run.js`];
  const { status, stderr } = spawnSync(process.execPath, [...args, JSON.stringify(commandLines)], { encoding: 'utf8' });
  expect({ status, stderr: status === 0 ? '' : stderr }).toEqual({ status: 0, stderr: '' });
  const urls: string[] = JSON.parse(stderr);
  return urls.filter((url) => url.startsWith('file:')).map((url) => url.replace(/^.*?\/(?=dist\/|node_modules\/)/, ''));
}

it('lists of commands load commander, names and summaries only, so that they print at once', () => {
  const groups = Object.entries(commands.commands).flatMap(([term, entry]) =>
    typeof entry === 'string' ? [] : [term],
  );
  expect(groups).toContain('export');
  const loaded = filesLoadedBy([['--help'], ...groups.map((group) => [group, '--help']), ['--version']]);
  expect(loaded).toContain('dist/src/cli/commands.js');
  expect(loaded.filter((file) => !allowed.some((pattern) => pattern.test(file)))).toEqual([]);
});

it('a command loads its own file and no other command', () => {
  const loaded = filesLoadedBy([['export', 'start', '--help']]);
  const files = loaded.filter((file) => file.startsWith('dist/src/cli/commands/'));
  expect(files).toEqual(['dist/src/cli/commands/export/export-run.js']);
});

const terms = Object.entries(commands.commands).flatMap(([term, entry]) =>
  typeof entry === 'string' ? [[term]] : Object.keys(entry.commands).map((inner) => [term, inner]),
);

it.each(terms.map((words) => ({ words, named: words.join(' ') })))(
  'help lists $named as its file declares it',
  async ({ words }) => {
    let command = createProgram(
      async () => {},
      () => {},
    );
    for (const term of words) {
      const inner = command.commands.find((sub) => sub.name() === term.split(' ')[0]);
      if (inner === undefined) throw new Error(`there is no command ${term}`);
      command = await declared(inner);
    }
    expect(words.at(-1)).toBe(new Help().subcommandTerm(command));
  },
);
