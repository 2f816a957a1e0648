import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { candidatesOf, destinationOf } from '../../../src/exports/verify/site-links.ts';

describe('where an address leads', () => {
  it.each([
    ['start.html', 'guide/', 'guide/start.html'],
    ['./start', 'guide/', 'guide/start'],
    ['../a/b.css?v=1#x', 'guide/', 'a/b.css'],
    ['../../../a', 'guide/', 'a'],
    ['/', 'guide/', ''],
    ['..', 'a/b/', 'a/'],
    ['.', 'a/', 'a/'],
    ['/caf%C3%A9/%20x', '', 'caf\u00e9/ x'],
    ['100%', '', '100%'],
    ['a\\b', '', 'a/b'],
    [' a\n.html ', '', 'a.html'],
  ])('%s on a page in "%s"', (address, folder, path) => {
    expect(destinationOf(address, folder)).toEqual({ kind: 'internal', path });
  });

  it.each([
    ['https://CDN.example/x', 'cdn.example'],
    ['//cdn.example:8080/x', 'cdn.example:8080'],
    ['\\\\cdn.example\\x', 'cdn.example'],
    ['HTTP:user@cdn.example', 'cdn.example'],
    ['ht\ntps://cdn.example', 'cdn.example'],
  ])('%s leaves the site', (address, host) => {
    expect(destinationOf(address, 'a/')).toEqual({ kind: 'external', host });
  });

  it.each([
    '#top',
    '',
    '?q',
    'mailto:a@b.example',
    'data:image/png;base64,AA==',
    'javascript:void 0',
    'tel:1',
    'blob:x',
  ])('%s leads nowhere else', (address) => {
    expect(destinationOf(address, 'a/')).toEqual({ kind: 'nowhere' });
  });

  it('is where a browser goes', () => {
    const segment = fc.constantFrom('..', '.', 'a', 'b', '');
    fc.assert(
      fc.property(
        fc.array(segment, { minLength: 1, maxLength: 6 }),
        fc.constantFrom('', 'x/', 'x/y/'),
        (parts, folder) => {
          const address = parts.join('/');
          fc.pre(!address.startsWith('//') && address !== '');
          const to = destinationOf(address, folder);
          const browser = new URL(address, `https://site.example/${folder}page.html`).pathname.slice(1);
          expect(to).toEqual({ kind: 'internal', path: browser });
        },
      ),
    );
  });

  it('is searched as a file, a page and a folder', () => {
    expect(candidatesOf('')).toContain('index.html');
    expect(candidatesOf('guide')).toEqual(expect.arrayContaining(['guide', 'guide.html', 'guide/index.html']));
    expect(candidatesOf('guide/')).toEqual(expect.arrayContaining(['guide/index.html', 'guide.html']));
  });
});
