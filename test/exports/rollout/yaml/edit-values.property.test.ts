import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { editHelmValues } from '../../../../src/exports/rollout/edit-values.ts';
import { propertyRuns } from '../../../tools/property-runs.ts';

const wanted = {
  bundleUrl: 'http://localhost:8090/docs.acme.example/versions/20261121T040200Z-3f9a2c1b8e7d/bundle.tar.gz',
  version: '20261121T040200Z-3f9a2c1b8e7d',
};
const { bundleUrl, version } = wanted;

/** A value as written in the file, and as it must be written afterwards. */
type Slot = { before: string; after: string };
const slots: Record<'enabled' | 'bundleUrl' | 'version', Slot[]> = {
  enabled: ['false', 'False', 'no', '"true"', '0', '~', 'null'].map((before) => ({ before, after: 'true' })),
  bundleUrl: [
    { before: '""', after: `"${bundleUrl}"` },
    { before: "'it''s'", after: `'${bundleUrl}'` },
    { before: '"https://x.example/a?X-Sig=1"', after: `"${bundleUrl}"` },
    { before: 'http://old.example/b.tgz', after: bundleUrl },
    { before: bundleUrl, after: bundleUrl },
  ],
  version: ['1e10', '20261121', "'v1'", '"v1"', 'v1', version, '0x1f', '2026-11-21'].map((before) => ({
    before,
    after: `"${version}"`,
  })),
};

const comment = fc.constantFrom('', '', '', '   # c', ' #', '\t# a\ttab: "x" {', '  # ünï ✓ staticExport: 1');
const fullLine = fc.constantFrom('', '# c', '#staticExport:', '  # deeper', '', '# \t"');
const gap = fc.constantFrom(' ', '  ', '    ');

/** Other entries of the root; `@` stands for a line end. */
const other = fc.constantFrom(
  'replicas:   2',
  'image: { tag: "v1",repo: a/b , x: [ 1,2 ] }',
  'picture:@    tag: v1  # pinned@    # deeper',
  "'quoted key': 'it''s'",
  'list:@- a@-   b: 1@    c: 2',
  'note: |@  text@   more: {@@  # no comment@',
  'folded: >-@    a@    b',
  'nothing:',
  'anchored: &a { x: 1 }@alias: *a@merged:@  <<: *a',
  'env:@  - name: staticExport@    value: "enabled: true"',
  '"multi\\tline": "x\\@   y"',
  '? explicit@: value',
  'keep: |+@  a@@',
);

/** A text, and the text it must become apart from insertions. */
interface Sample {
  before: string;
  after: string;
}

const field = (name: keyof typeof slots) =>
  fc.record({ name: fc.constant(name), quote: fc.constantFrom('', '"', "'"), slot: fc.constantFrom(...slots[name]) });
const someFields = fc
  .tuple(field('enabled'), field('bundleUrl'), field('version'))
  .chain((fields) => fc.shuffledSubarray([...fields]));

const blockMapping = fc
  .record({
    fields: someFields,
    indent: fc.integer({ min: 1, max: 6 }),
    gap,
    comment,
    line: fullLine,
    extra: fc.constantFrom('', 'cache: { ttl: 5 }', 'cache:@  ttl: 5', 'hosts:@- a@- b', 'note: |@  text@@', 'none:'),
  })
  .filter(({ fields }) => fields.length > 0)
  .map((made): Sample => {
    const pad = ' '.repeat(made.indent);
    const extra = made.extra === '' ? [] : [made.extra.replaceAll(/^|@(?!@|$)/g, (end) => end + pad)];
    const text = (side: keyof Sample) => {
      const lines = made.fields.flatMap(({ name, quote, slot }) => [
        `${pad}${quote}${name}${quote}:${made.gap}${slot[side]}${made.comment}`,
        ...(made.line === '' ? [] : [pad + made.line]),
      ]);
      return [`staticExport:${made.comment}`, ...lines, ...extra].join('@');
    };
    return { before: text('before'), after: text('after') };
  });

const flowMapping = fc
  .record({
    fields: someFields,
    open: fc.constantFrom('{', '{ ', '{@  '),
    close: fc.constantFrom('}', ' }', ', }', '@  }'),
    comment,
  })
  .filter(({ fields, close }) => fields.length > 0 || !close.startsWith(','))
  .map(({ fields, open, close, comment: tail }): Sample => {
    const text = (side: keyof Sample) => {
      const entries = fields.map(({ name, quote, slot }) => `${quote}${name}${quote}: ${slot[side]}`).join(' ,  ');
      return `staticExport: ${open}${entries}${close}${tail}`;
    };
    return { before: text('before'), after: text('after') };
  });

const missing = fc
  .constantFrom('', 'staticExport:', 'staticExport:   # later')
  .map((text) => ({ before: text, after: text }));

const valuesFile = fc
  .record({
    head: fc.constantFrom('', '', '---', '# top'),
    above: fc.array(fc.tuple(other, fullLine), { maxLength: 3 }),
    mapping: fc.oneof(blockMapping, flowMapping, missing),
    below: fc.array(fc.tuple(other, fullLine), { maxLength: 2 }),
    eol: fc.constantFrom('\n', '\r\n'),
    bom: fc.boolean(),
    lastEol: fc.boolean(),
  })
  .map(({ head, above, mapping, below, eol, bom, lastEol }): Sample => {
    const used = new Set<string>();
    const once = (entries: [string, string][]) =>
      entries.flatMap(([entry, line]) => (used.has(entry) || !used.add(entry) ? [] : [entry, line])).filter(Boolean);
    const [first, last] = [once(above), once(below)];
    const text = (side: keyof Sample) => {
      const lines = [head, ...first, mapping[side], ...last].filter((line) => line !== '');
      const endsOpen = !lastEol && !/[|>].?@|^ {2}# deeper/.test(lines.at(-1) ?? '');
      return (bom ? '\uFEFF' : '') + lines.join('@').replaceAll('@', eol) + (endsOpen ? '' : eol);
    };
    return { before: text('before'), after: text('after') };
  });

/** The single insertion that turns `shorter` into `longer`; null when they differ otherwise. */
function insertionIn(longer: string, shorter: string): string | null {
  let at = 0;
  while (at < shorter.length && longer[at] === shorter[at]) at += 1;
  const size = longer.length - shorter.length;
  return longer.slice(at + size) === shorter.slice(at) ? longer.slice(at, at + size) : null;
}

it('changes the three values, inserts the missing ones in one place, and keeps every other byte', () => {
  let insertions = 0;
  fc.assert(
    fc.property(valuesFile, ({ before, after }) => {
      const { text } = editHelmValues(before, 'staticExport', wanted);
      const inserted = insertionIn(text, after);
      expect(inserted, 'another byte changed').not.toBeNull();
      if (inserted !== '') {
        insertions += 1;
        const own = /^[\s{},]*(("?(staticExport|enabled|bundleUrl|version)"?:)|true|"[^"]*"|[\s{},])*$/;
        expect(inserted).toMatch(own);
      }
      expect(text).not.toMatch(before.includes('\r\n') ? /(?<!\r)\n/ : /\r/);
      const options = { merge: true, maxAliasCount: -1 };
      const [was, is] = [before, text].map((side) => parse(side, options) ?? {});
      expect(is.staticExport).toEqual({ ...was.staticExport, enabled: true, ...wanted });
      expect({ ...is, staticExport: null }).toEqual({ ...was, staticExport: null });
      expect(editHelmValues(text, 'staticExport', wanted)).toEqual({ text, changed: [] });
    }),
    { numRuns: propertyRuns(500) },
  );
  expect(insertions).toBeGreaterThan(60);
});
