import { describe, expect, it } from 'vitest';
import { Output, type OutputOptions } from '../../../src/cli/context.ts';

function captured(options: Partial<OutputOptions> = {}, isTTY = false) {
  const texts = { stdout: '', stderr: '' };
  const stream = (name: keyof typeof texts) => ({
    isTTY,
    columns: 100,
    write: (text: string) => {
      texts[name] += text;
    },
  });
  const output = new Output({
    json: false,
    quiet: false,
    color: true,
    env: {},
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    ...options,
  });
  return { output, texts };
}

const failure = { code: 'NetworkError', message: 'cannot be reached', hint: 'try later', exitCode: 1 } as const;

describe('with --json', () => {
  it('stdout has the one document and stderr everything else', async () => {
    const { output, texts } = captured({ json: true });
    output.note('on the way');
    output.warn('beware');
    output.say('an address');
    const live = await output.startLive();
    live.show('site', { key: 'rendering', text: 'rendering 10 %' });
    live.end();
    output.result({ version: 'v1' }, 'published v1');
    expect(JSON.parse(texts.stdout)).toEqual({ version: 'v1' });
    expect(texts.stderr).toBe('on the way\nwarning: beware\nan address\nsite: rendering 10 %\n');
  });

  it('a failure is a document', () => {
    const { output, texts } = captured({ json: true });
    output.failure(failure, null);
    expect(JSON.parse(texts.stdout)).toEqual({
      error: { code: 'NetworkError', message: 'cannot be reached', hint: 'try later' },
    });
    expect(texts.stderr).toBe('');
  });

  it('a failure after the document goes to stderr, so that there is never a second one', () => {
    const { output, texts } = captured({ json: true });
    output.result({ ready: true }, 'ready');
    output.failure(failure, null);
    expect(JSON.parse(texts.stdout)).toEqual({ ready: true });
    expect(texts.stderr).toBe('error: cannot be reached\nhint: try later\n');
    expect(() => output.result({}, '')).toThrow('one JSON document');
  });
});

describe('without --json', () => {
  it('stdout has only the result', () => {
    const { output, texts } = captured();
    output.note('on the way');
    output.result({ version: 'v1' }, 'published v1');
    output.failure(failure, 'at line 1');
    expect(texts.stdout).toBe('published v1\n');
    expect(texts.stderr).toBe('on the way\nerror: cannot be reached\nhint: try later\nat line 1\n');
  });

  it('--quiet prints no progress, but still warnings and failures', async () => {
    const { output, texts } = captured({ quiet: true });
    output.note('on the way');
    const live = await output.startLive();
    live.show('site', { key: 'rendering', text: 'rendering' });
    live.end();
    output.warn('beware');
    output.failure({ ...failure, hint: null }, null);
    expect(texts).toEqual({ stdout: '', stderr: 'warning: beware\nerror: cannot be reached\n' });
  });

  it('work that goes on is not an error to a person who stopped waiting', () => {
    const { output, texts } = captured();
    output.failure({ ...failure, exitCode: 5 }, null);
    expect(texts.stderr).toBe('note: cannot be reached\nhint: try later\n');
  });
});

describe('colours', () => {
  const painted = (options: Partial<OutputOptions>, isTTY = true) =>
    captured(options, isTTY).output.paint.red('x') !== 'x';

  it('are for terminals that want them', () => {
    expect(painted({})).toBe(true);
    expect(painted({}, false)).toBe(false);
    expect(painted({ color: false })).toBe(false);
    expect(painted({ env: { NO_COLOR: '1' } })).toBe(false);
    expect(painted({ env: { TERM: 'dumb' } })).toBe(false);
  });
});

describe('live lines', () => {
  it('off a terminal are one line for each change of a step', async () => {
    const { output, texts } = captured();
    const live = await output.startLive();
    live.show('a', { key: 'rendering 1', text: 'rendering ███ 11 %', line: 'rendering, 11 %' });
    live.show('a', { key: 'rendering 1', text: 'rendering ███ 14 %', line: 'rendering, 14 %' });
    live.show('b', { key: 'reading', text: 'reading' });
    live.show('a', { key: 'fetching', text: 'fetching' });
    live.end();
    expect(texts.stderr).toBe('a: rendering, 11 %\nb: reading\na: fetching\n');
  });

  it('on a terminal are redrawn, with warnings above them', async () => {
    const { output, texts } = captured({ env: { NO_COLOR: '1' } }, true);
    const live = await output.startLive();
    live.show('a', { key: '1', text: 'rendering 11 %' });
    live.show('a', { key: '1', text: 'rendering 14 %' });
    output.warn('beware');
    live.end();
    expect(texts.stderr).toContain('rendering 11 %');
    expect(texts.stderr).toContain('rendering 14 %');
    expect(texts.stderr.indexOf('warning: beware')).toBeGreaterThan(texts.stderr.indexOf('rendering 14 %'));
    expect(texts.stdout).toBe('');
  });
});

describe('texts of others', () => {
  const ownColour = new RegExp(`${String.fromCharCode(0x1b)}\\[\\d{1,2}m`, 'g');
  const foreign = 'a\u001b]0;owned\u0007b\u001b[2Jc\u009b1Ad\re\u202ef\u001b[31mg';

  it.each([true, false])('cannot command a terminal, nor what reads stdout (a terminal: %s)', async (isTTY) => {
    const { output, texts } = captured({}, isTTY);
    output.note(foreign);
    output.warn(foreign);
    output.say(foreign);
    output.failure({ code: 'X', message: foreign, hint: foreign, exitCode: 1 }, foreign);
    output.result({}, output.paint.red(foreign));
    const all = texts.stdout + texts.stderr;
    const own = isTTY ? all.replaceAll(ownColour, '') : all;
    expect(own.match(/[^\P{Cc}\n\t]|\u202e/gu)).toBeNull();
    if (isTTY) expect(texts.stdout).toContain('\u001b[31m');
  });

  it('are escaped in JSON, and mean the same', () => {
    const { output, texts } = captured({ json: true });
    output.result({ foreign }, '');
    expect(texts.stdout.match(/[^\P{Cc}\n\t]|\u202e/gu)).toBeNull();
    expect(JSON.parse(texts.stdout)).toEqual({ foreign });
  });
});
