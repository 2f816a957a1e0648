import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { docferry, docferryJson } from '../../tools/cli/run-docferry.ts';

const commands = [
  ['up'],
  ['worker'],
  ['serve'],
  ['sandbox'],
  ['demo'],
  ['replay'],
  ['config', 'check'],
  ['export', 'start'],
  ['export', 'status'],
  ['export', 'cancel'],
  ['export', 'poll-now'],
  ['export', 'versions'],
  ['export', 'verify'],
  ['feedback', 'sync'],
  ['feedback', 'status'],
  ['feedback', 'cancel'],
  ['budget', 'show'],
  ['budget', 'watch'],
  ['budget', 'set'],
  ['budget', 'reset'],
  ['budget', 'pause'],
  ['budget', 'resume'],
];

describe.skipIf(!existsSync('/dev/full'))('on a full disk', () => {
  const bin = resolve('dist/src/starter.js');
  const run = (command: string) =>
    spawnSync('sh', ['-c', `"$0" "$1" ${command}`, process.execPath, bin], { encoding: 'utf8' });

  it.each(['config schema', 'config schema --json', '--help', '--version'])(
    'a result that cannot be written is a failure: %s',
    (command) => {
      const { status, stderr } = run(`${command} >/dev/full`);
      expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('no space left on device') });
    },
  );

  it('what is said beside a result can be lost', () => {
    expect(run('doctor --json --config none.yaml 2>/dev/full').stdout).toContain('"checks"');
  });
});

describe('help', () => {
  it('names the commands, with examples and exit codes', async () => {
    const { exitCode, stdout, stderr } = await docferry(['--help'], { ownProcess: true });
    expect(exitCode).toBe(0);
    for (const name of new Set(commands.map(([first]) => first)))
      expect(stdout).toMatch(new RegExp(`^ {2}${name}\\b`, 'm'));
    expect(stdout).toContain('docferry export start docs.acme.example --wait');
    expect(stdout).toContain('3 Temporal unreachable');
    expect(stderr).toBe('');
  });

  it('says what each command does and which flags every command has', async () => {
    const pages = await Promise.all(commands.map((command) => docferry([...command, '--help'])));
    for (const [index, { exitCode, stdout }] of pages.entries()) {
      expect(exitCode).toBe(0);
      expect(stdout).toMatch(new RegExp(`^Usage: docferry ${commands[index]?.join(' ')}`));
      expect(stdout).toContain('--no-color');
    }
  });

  it('is of the command whose name follows, at any depth', async () => {
    const shown = await Promise.all(
      [
        ['help', 'export', 'start'],
        ['export', 'help', 'start'],
        ['help', 'up'],
      ].map((args) => docferry(args)),
    );
    expect(shown.map(({ exitCode, stdout }) => [exitCode, stdout.split('\n')[0]])).toEqual([
      [0, 'Usage: docferry export start [options] [domain]'],
      [0, 'Usage: docferry export start [options] [domain]'],
      [0, 'Usage: docferry up [options]'],
    ]);
  });

  it('offers every fault of the sandbox as a flag', async () => {
    const { stdout } = await docferry(['sandbox', '--help']);
    for (const flag of ['--error-rate', '--vanish-jobs', '--storage-cut', '--link-lifetime'])
      expect(stdout).toContain(flag);
  });

  it('prints the version, as a document too', async () => {
    expect((await docferry(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect((await docferryJson(['--version'])).document).toEqual({ version: expect.stringMatching(/^\d+\.\d+\.\d+$/) });
  });
});

describe('usage errors', () => {
  it('are exit code 2 with one document on stdout', async () => {
    const wrong: [args: string[], message: RegExp][] = [
      [['bogus'], /unknown command 'bogus'/],
      [['help', 'bogus'], /unknown command 'bogus'/],
      [['help', 'export', 'bogus'], /unknown command 'bogus'/],
      [['export'], /name a command/],
      [['export', 'start'], /missing required argument 'domain'/],
      [['export', 'start', 'docs.acme.example', '--on-running', 'maybe'], /--on-running/],
      [['export', 'start', 'docs.acme.example', '--nope'], /unknown option '--nope'/],
      [['budget', 'show', 'acme', 'more'], /too many arguments/],
      [['up', '--port', 'abc'], /--port is "abc"/],
      [['worker', '--build', '1.5.0'], /give --deployment too/],
      [['worker', '--deployment', 'docferry.eu', '--build', '1'], /--deployment is "docferry.eu"/],
      [['worker', '--deployment', 'docferry', '--build', '1:2'], /--build is "1:2"/],
      [['replay', '--since', 'long'], /--since is "long"/],
      [['status', '--for', '1m'], /--for goes with --watch/],
      [
        ['feedback', 'sync', 'p', '--from', '2026-11-20', '--to', '2026-11-19'],
        /it must be later than 2026-11-20, where the range begins/,
      ],
      [['export', 'reject', 'docs.acme.example', '--reason', ' '], /--reason must say why/],
      [['export', 'reject', 'docs.acme.example', '--reason', 'x'.repeat(501)], /--reason has 501 characters/],
      [['history', '--since', '104000000d'], /--since is "104000000d"/],
      [['audit', '--since', '104000000d'], /--since is "104000000d"/],
      [['sandbox', '--requests', 'many'], /--requests must be a whole number/],
    ];
    const runs = await Promise.all(wrong.map(([args]) => docferryJson(args)));
    for (const [index, { exitCode, document, stderr }] of runs.entries()) {
      expect(exitCode).toBe(2);
      const message = expect.stringMatching(wrong[index]?.[1] ?? /^$/);
      expect(document).toMatchObject({ error: { code: 'Usage', message } });
      expect(document).toHaveProperty('error.hint');
      expect(stderr).toBe('');
    }
  });

  it('go to stderr without --json, with the way to the help', async () => {
    const { exitCode, stdout, stderr } = await docferry(['export', 'start'], { ownProcess: true });
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toMatch(
      /^error: missing required argument 'domain', or --all, --org or --match\nhint: see `docferry export start --help`\n$/,
    );
  });

  it.each([
    [['--json', 'export', 'start', '--all', '--match', 'x', 'docs.acme.example'], 'docferry export start'],
    [['export', 'stat'], 'docferry export'],
    [['budget', '--nonsense'], 'docferry budget'],
    [['nonsense'], 'docferry'],
    [['help', 'nonsense'], 'docferry'],
    [['help', 'export', 'stat'], 'docferry export'],
  ])('name the help of the command that was meant: %j', async (args, command) => {
    const { exitCode, document } = await docferryJson(args);
    expect([exitCode, document]).toMatchObject([2, { error: { code: 'Usage', hint: `see \`${command} --help\`` } }]);
  });

  it('show the help to a person who named no command', async () => {
    const { exitCode, stdout, stderr } = await docferry([]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toMatch(/^Usage: docferry/);
  });

  it('take --json before the command as well', async () => {
    const { exitCode, stdout } = await docferry(['--json', 'export', 'start']);
    expect(exitCode).toBe(2);
    expect(JSON.parse(stdout)).toHaveProperty('error.code', 'Usage');
  });
});
