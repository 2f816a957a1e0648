import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';

const built = fileURLToPath(new URL('../../dist/', import.meta.url));

/** Everything that help needs: commander, the declarations of commands, and what prints. */
const allowed = [
  /^node_modules\/(commander|picocolors)\//,
  /^dist\/src\/cli\/(run|program|call-handler)\.js$/,
  /^dist\/src\/cli\/commands\/(completion\/shells|([a-z]+\/)?index)\.js$/,
  /^dist\/src\/cli\/(failures\/(cli-failure|exit-codes)|terminal\/(live-lines|output|safe-for-terminal))\.js$/,
  /^dist\/src\/cli\/input\/(bulk-flags|flag-values|package-file|selection-flags|actor|wait-options)\.js$/,
  /^dist\/src\/(config\/durations|model\/(entry|explained-error|iso-instant|message-readers|visible-text|export\/(site-export|export-outcome)|sync\/(feedback-values|pass-kind)))\.js$/,
  /^dist\/sandbox\/(faults|field|options|organizations|random|settings)\.js$/,
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

/** Every command, hidden ones too, as words. */
function commandsBelow(command: Command, words: string[] = []): string[][] {
  return [words, ...command.commands.flatMap((sub) => commandsBelow(sub, [...words, sub.name()]))];
}

it('the help of every command loads commander and declarations only, so that it prints at once', () => {
  const program = createProgram(
    async () => {},
    () => {},
  );
  const commands = commandsBelow(program);
  expect(commands.length).toBeGreaterThan(40);
  const loaded = filesLoadedBy([...commands.map((words) => [...words, '--help']), ['--version']]);
  expect(loaded).toEqual(expect.arrayContaining(['dist/src/cli/run.js', 'dist/src/cli/commands/export/index.js']));
  expect(loaded.some((file) => file.includes('commander'))).toBe(true);
  expect(loaded.filter((file) => !allowed.some((pattern) => pattern.test(file)))).toEqual([]);
});
