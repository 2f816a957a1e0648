import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { factLines, indent, printable, tableLines, wrapped } from '../../../src/cli/terminal/text.ts';

it('a table of a fleet has more rows than a call has room for arguments', () => {
  const rows = Array.from({ length: 200_000 }, () => ['docs.acme.example', 'published']);
  expect(tableLines(['name', 'outcome'], rows).length).toBeGreaterThan(200_000);
});

describe('columns of a table', () => {
  it('line up in a terminal, with wide and combining characters and colours', () => {
    const rows = [
      ['/ガイド', '1'],
      ['/e\u0301te\u0301', '2'],
      ['\u001b[31m/red\u001b[39m', '3'],
    ];
    expect(tableLines(['page', 'n'], rows).split('\n')).toEqual([
      'page     n',
      '/ガイド  1',
      '/e\u0301te\u0301     2',
      '\u001b[31m/red\u001b[39m     3',
    ]);
  });
});

describe('a table that is wider than the terminal', () => {
  const rows = [
    ['*', 'docs2', 'idle', '3', '\u001b[32m####\u001b[39m', ''],
    ['', 'docs10', 'running for a long time', '-', '', 'because'],
  ];

  it('becomes a block for each row, with what has no title beside what is before it', () => {
    const header = ['', 'site', 'state', 'pages', '', 'why'];
    expect(tableLines(header, rows, 40).split('\n')).toEqual([
      '* docs2',
      '  state  idle',
      '  pages  3 \u001b[32m####\u001b[39m',
      'docs10',
      '  state  running for a long time',
      '  why    because',
    ]);
    expect(tableLines(header, rows, 60).split('\n')).toHaveLength(3);
  });

  it('leaves out what it can spare before that, the first first', () => {
    const rows = [
      ['docs.acme.example', 'idle', '2026-11-21 04:02', 'failing'],
      ['docs2.acme.example', 'running', '-', ''],
    ];
    const lines = (columns: number) =>
      tableLines(['site', 'state', 'ended', 'note'], rows, columns, ['ended', 'state']).split('\n');
    expect(lines(54)[0]).toBe('site                state    ended             note');
    expect(lines(40)).toEqual([
      'site                state    note',
      'docs.acme.example   idle     failing',
      'docs2.acme.example  running',
    ]);
    expect(lines(30)[1]).toBe('docs.acme.example   failing');
    expect(lines(20).slice(0, 3)).toEqual(['docs.acme.example', '  state  idle', '  ended  2026-11-21 04:02']);
  });

  it('breaks the words of its last column before it gives one up', () => {
    const rows = [
      ['docs.acme.example', 'failed', `no room in /var/lib/${'x'.repeat(24)}, and 2 more`],
      ['docs2.acme.example', 'idle', ''],
    ];
    expect(tableLines(['site', 'last', 'why'], rows, 54).split('\n')).toEqual([
      'site                last    why',
      'docs.acme.example   failed  no room in /var/lib/xxxxxx',
      `                            ${'x'.repeat(18)}, and 2`,
      '                            more',
      'docs2.acme.example  idle',
    ]);
  });

  it('puts those words below their row, and breaks long names, where nothing is left to spare', () => {
    const red = (text: string) => `\u001b[31m${text}\u001b[39m`;
    const rows = [
      [red('a-long-name-of-a-site.acme.example'), 'idle', '2026-11-21 04:02', `no room in /var/lib/${'x'.repeat(24)}`],
      ['docs.acme.example', 'idle', '2026-11-21 04:02', ''],
    ];
    const lines = (columns: number) =>
      tableLines(['site', 'last', 'ended', 'why'], rows, columns, ['ended']).split('\n');
    expect(lines(42)).toEqual([
      'site                                last',
      `${red('a-long-name-of-a-site.acme.example')}  idle`,
      '  no room in',
      `  /var/lib/${'x'.repeat(24)}`,
      'docs.acme.example                   idle',
    ]);
    expect(lines(32).slice(0, 4)).toEqual([
      'site                        last',
      `${red('a-long-name-of-a-site.acme')}  idle`,
      red('.example'),
      `  no room in /var/lib/${'x'.repeat(10)}`,
    ]);
    expect(lines(29)).toEqual([
      red('a-long-name-of-a-site.acme.ex'),
      red('ample'),
      '  last   idle',
      '  ended  2026-11-21 04:02',
      `  why    no room in /var/lib/${'x'.repeat(4)}`,
      `         ${'x'.repeat(20)}`,
      'docs.acme.example',
      '  last   idle',
      '  ended  2026-11-21 04:02',
    ]);
  });

  it('stays a table when it is empty', () => {
    expect(tableLines(['site', 'state'], [], 5)).toBe('site  state');
  });
});

describe('a long foreign text', () => {
  it('is cut between characters', () => {
    expect(printable('👍'.repeat(61))).toBe(`${'👍'.repeat(29)}…${'👍'.repeat(29)}`);
  });
});

it('gives the long name of a fact a line of its own, and all values one column', () => {
  const long = 'directory:/var/www/docs.acme.example';
  expect(
    factLines([
      ['url', 'http://x'],
      [long, 'switched'],
    ]).split('\n'),
  ).toEqual(['url  http://x', long, '     switched']);
});

it('keeps the joiners of an emoji, and no others', () => {
  for (const emoji of ['👩‍💻', '🏳️‍🌈', '👩🏽‍💻']) expect(printable(`a ${emoji} b`)).toBe(`a ${emoji} b`);
  expect(printable('a\u200db \u200d💻 💻\u200d')).toBe('a\uFFFDb \uFFFD💻 💻\uFFFD');
});

describe('lines beside a table that are wider than the terminal', () => {
  const facts = indent(
    factLines([
      ['phase', 'waits'],
      ['because', 'the pages that were removed are more than allowed'],
    ]),
  );
  const text = `held at v1 since 2026-11-21 04:02:00 UTC: the words are wrong\n${facts}\n`;

  it('go on below the value of their fact, or with an indent', () => {
    expect(wrapped(text, 40).split('\n')).toEqual([
      'held at v1 since 2026-11-21 04:02:00',
      '    UTC: the words are wrong',
      '  phase    waits',
      '  because  the pages that were removed',
      '           are more than allowed',
      '',
    ]);
  });

  it('stay as they are where there is no terminal', () => {
    expect(wrapped(text, Number.POSITIVE_INFINITY)).toBe(text);
  });

  it('keep their words whole on a narrow one, and their colours', () => {
    const line = `  ${'a-long-name'.repeat(2)}  \u001b[31mone two three four five six seven\u001b[39m`;
    const lines = wrapped(line, 30).split('\n');
    expect(lines.map((one) => stripVTControlCharacters(one))).toEqual([
      '  a-long-namea-long-name',
      '      one two three four five',
      '      six seven',
    ]);
    expect(lines.slice(1).every((one) => one.includes('\u001b[31m'))).toBe(true);
  });
});
