import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { editHelmValues, readHelmValues, ValuesRefused } from '../../../../src/exports/rollout/edit-values.ts';

const urlOfV = 'https://bundles.acme.example/docs.acme.example/versions/20261121T040200Z-3f9a2c1b8e7d/bundle.tar.gz';
const v = '20261121T040200Z-3f9a2c1b8e7d';
const wanted = { bundleUrl: urlOfV, version: v };

/** `U` and `V` stand for the written address and version. */
const filled = (text: string) => text.replaceAll('«U»', urlOfV).replaceAll('«V»', v);

function edited(text: string, key = 'staticExport'): string {
  const result = editHelmValues(text, key, wanted);
  expect(result.changed).not.toEqual([]);
  expect(readHelmValues(result.text, key)).toEqual(wanted);
  expect(editHelmValues(result.text, key, wanted)).toEqual({ text: result.text, changed: [] });
  return result.text;
}

function refusalOf(text: string, key = 'staticExport'): string {
  try {
    editHelmValues(text, key, wanted);
  } catch (error) {
    if (error instanceof ValuesRefused) return error.message;
    throw error;
  }
  throw new Error('it should have been refused');
}

/** Name, text before, text after. */
type Case = [name: string, before: string, after: string];

describe('existing values', () => {
  const cases: Case[] = [
    [
      'are replaced between comments, odd spaces and quotes that stay',
      '# top\nreplicas:   2\nstaticExport:   # the site\n  enabled:   false   # off\n  bundleUrl: "old"\t# a\ttab\n  version: 1e10\nlist: [ a,b ,  c ]\n',
      '# top\nreplicas:   2\nstaticExport:   # the site\n  enabled:   true   # off\n  bundleUrl: "«U»"\t# a\ttab\n  version: "«V»"\nlist: [ a,b ,  c ]\n',
    ],
    [
      'keep the quotes of the address; the version always has double ones',
      "staticExport:\n  version: 'old'\n  bundleUrl: 'old'\n  enabled: 'yes'\n",
      'staticExport:\n  version: "«V»"\n  bundleUrl: \'«U»\'\n  enabled: true\n',
    ],
    [
      'are quoted when only the quotes are missing',
      'staticExport: { enabled: true, bundleUrl: «U», version: «V» }\n',
      'staticExport: { enabled: true, bundleUrl: «U», version: "«V»" }\n',
    ],
    [
      'keep CRLF, a byte order mark and a missing last line end',
      '\uFEFFa: 1\r\nstaticExport:\r\n  enabled: no\r\n  bundleUrl: old\r\n  version: old',
      '\uFEFFa: 1\r\nstaticExport:\r\n  enabled: true\r\n  bundleUrl: «U»\r\n  version: "«V»"',
    ],
    [
      'may be empty, null or an alias',
      'x: &old v\nstaticExport:\n  enabled: # on?\n  bundleUrl: ~\n  version: *old # pinned\nz: &b\n',
      'x: &old v\nstaticExport:\n  enabled: true # on?\n  bundleUrl: «U»\n  version: "«V»" # pinned\nz: &b\n',
    ],
    [
      'may be block scalars, of which the comment stays',
      'staticExport:\n  bundleUrl: >- # where\n    http://old\n    more\n\n  enabled: true\n  version: |\n    old\n# end\n',
      'staticExport:\n  bundleUrl: "«U»" # where\n\n  enabled: true\n  version: "«V»"\n# end\n',
    ],
    [
      'may go over several lines',
      'staticExport:\n  bundleUrl: http://old\n    and more\n  enabled: true\n  version: "o\\\n    ld"\n',
      'staticExport:\n  bundleUrl: «U»\n  enabled: true\n  version: "«V»"\n',
    ],
    [
      'keep anchors that nobody uses, and tags that agree',
      'staticExport:\n  enabled: &e !!bool false\n  bundleUrl: &u old\n  version: !!str 3\n',
      'staticExport:\n  enabled: &e !!bool true\n  bundleUrl: &u «U»\n  version: !!str "«V»"\n',
    ],
    [
      'stand in flow mappings over several lines',
      '"staticExport" : {\n  "enabled" : false , # c\n\n  "bundleUrl":"old","version":null}\nb: 1\n',
      '"staticExport" : {\n  "enabled" : true , # c\n\n  "bundleUrl":"«U»","version":"«V»"}\nb: 1\n',
    ],
    [
      'stand under quoted keys, in any order, among others',
      "a: 1\n'staticExport':\n   \"version\":  x\n   extra: [1,\n     2]\n   enabled: true\n   'bundleUrl': y\n",
      'a: 1\n\'staticExport\':\n   "version":  "«V»"\n   extra: [1,\n     2]\n   enabled: true\n   \'bundleUrl\': «U»\n',
    ],
    [
      'stand in a document with directives and markers',
      '%YAML 1.2\n--- # values\nstaticExport:\n  enabled: false\n  bundleUrl: ""\n  version: ""\n...\n# after\n',
      '%YAML 1.2\n--- # values\nstaticExport:\n  enabled: true\n  bundleUrl: "«U»"\n  version: "«V»"\n...\n# after\n',
    ],
  ];
  it.each(cases)('%s', (_name, before, after) => {
    expect(edited(filled(before))).toBe(filled(after));
  });

  it('stay untouched when they are right', () => {
    for (const style of ['"«V»"', "'«V»'", '>-\n    «V»']) {
      const text = filled(`staticExport:\n  enabled: true\n  bundleUrl: «U»\n  version: ${style}\n`);
      expect(editHelmValues(text, 'staticExport', wanted)).toEqual({ text, changed: [] });
    }
  });

  it('are named when they changed', () => {
    const text = filled('staticExport: { enabled: true, bundleUrl: old, version: "«V»" }');
    expect(editHelmValues(text, 'staticExport', wanted).changed).toEqual(['bundleUrl']);
  });
});

describe('missing values', () => {
  const cases: Case[] = [
    ['make a mapping in an empty file', '', 'staticExport:\n  enabled: true\n  bundleUrl: "«U»"\n  version: "«V»"\n'],
    [
      'make a mapping below comments',
      '# values\r\n',
      '# values\r\nstaticExport:\r\n  enabled: true\r\n  bundleUrl: "«U»"\r\n  version: "«V»"\r\n',
    ],
    [
      'make a mapping before the end of the document',
      '---\n...\n',
      '---\nstaticExport:\n  enabled: true\n  bundleUrl: "«U»"\n  version: "«V»"\n...\n',
    ],
    [
      'make a mapping behind the last entry and its comments, indented as the others',
      'image:\n    tag: v1\n    # pinned\n\n# vim: sw=4\n',
      'image:\n    tag: v1\n    # pinned\nstaticExport:\n    enabled: true\n    bundleUrl: "«U»"\n    version: "«V»"\n\n# vim: sw=4\n',
    ],
    [
      'make a mapping behind a list, without a line end at the end',
      'a: 1\nhosts:\n- x # first\n- y: 1\n  z: 2',
      'a: 1\nhosts:\n- x # first\n- y: 1\n  z: 2\nstaticExport:\n  enabled: true\n  bundleUrl: "«U»"\n  version: "«V»"',
    ],
    [
      'make a mapping right behind a list, before comments of the whole file',
      'hosts:\n- a\n# end\n',
      'hosts:\n- a\nstaticExport:\n  enabled: true\n  bundleUrl: "«U»"\n  version: "«V»"\n# end\n',
    ],
    [
      'make a mapping behind a block scalar with its blank lines',
      'note: |+\n  text\n\n\n',
      'note: |+\n  text\n\n\nstaticExport:\n  enabled: true\n  bundleUrl: "«U»"\n  version: "«V»"\n',
    ],
    [
      'fill a mapping that is there without entries',
      'staticExport: # soon\n  # enabled: false\nb: 1\n',
      'staticExport: # soon\n  enabled: true\n  bundleUrl: "«U»"\n  version: "«V»"\n  # enabled: false\nb: 1\n',
    ],
    [
      'fill null',
      'staticExport: null # soon\nb: 1\n',
      'staticExport: { enabled: true, bundleUrl: "«U»", version: "«V»" } # soon\nb: 1\n',
    ],
    [
      'fill an empty flow mapping',
      'staticExport: {} # soon\n',
      'staticExport: { enabled: true, bundleUrl: "«U»", version: "«V»" } # soon\n',
    ],
    ['fill an empty file of JSON', '{}', '{ staticExport: { enabled: true, bundleUrl: "«U»", version: "«V»" } }'],
    [
      'fill JSON as JSON',
      '{\n  "replicas": 2\n}\n',
      '{\n  "replicas": 2, "staticExport": { "enabled": true, "bundleUrl": "«U»", "version": "«V»" }\n}\n',
    ],
    [
      'are put behind the last entry of a block mapping, in its indentation',
      'staticExport:\n     bundleUrl: old # where\n     cache:\n       ttl: 5\n       # seconds\n     # off\n\nb: 1\n',
      'staticExport:\n     bundleUrl: «U» # where\n     cache:\n       ttl: 5\n       # seconds\n     enabled: true\n     version: "«V»"\n     # off\n\nb: 1\n',
    ],
    [
      'are put behind the last entry of a flow mapping, before its comma',
      'staticExport: {\n  enabled: false, # off\n  }\n',
      'staticExport: {\n  enabled: true, bundleUrl: "«U»", version: "«V»", # off\n  }\n',
    ],
    [
      'are put behind keys without values',
      'staticExport: {enabled, "bundleUrl": }\n',
      'staticExport: {enabled: true, "bundleUrl": "«U»" , version: "«V»"}\n',
    ],
    [
      'are put behind a last entry without a value, at the end of a file without a line end',
      'staticExport:\r\n  enabled: true\r\n  extra:',
      'staticExport:\r\n  enabled: true\r\n  extra:\r\n  bundleUrl: "«U»"\r\n  version: "«V»"',
    ],
    [
      'are put into a mapping that merges others',
      'base: &base { enabled: false, version: "old", size: 1 }\nstaticExport:\n  <<: *base\n',
      'base: &base { enabled: false, version: "old", size: 1 }\nstaticExport:\n  <<: *base\n  enabled: true\n  bundleUrl: "«U»"\n  version: "«V»"\n',
    ],
  ];
  it.each(cases)('%s', (_name, before, after) => {
    expect(edited(filled(before))).toBe(filled(after));
  });

  it('keep JSON valid', () => {
    expect(JSON.parse(edited('{\r\n\t"a": {"b": [1]},\r\n\t"staticExport": null\r\n}'))).toEqual({
      a: { b: [1] },
      staticExport: { enabled: true, ...wanted },
    });
  });
});

describe('a file that cannot be edited safely', () => {
  it.each([
    ['line 3: is not valid YAML', 'a: 1\nb: [1\nhunter2: x\n'],
    ['too many or unknown aliases', `a0: &a0 [x, x, x, x, x, x, x, x, x]\n${bomb()}`],
    ['line 3: a key is listed twice', 'a: 1\nb: 2\na: 3\n'],
    ['line 4: a key is listed twice', 'staticExport:\n  version: "a"\n  enabled: true\n  "version": b\n'],
    ['none of them has staticExport', 'a: 1\n---\nb: 2\n'],
    ['neither LF nor CRLF', 'a: 1\rb: 2\r'],
    ['does not contain a mapping', '- a\n'],
    ['does not contain a mapping', 'null\n'],
    ['is an alias', 'a: &a { enabled: true }\nstaticExport: *a\n'],
    ['is not a mapping', 'staticExport: [enabled]\n'],
    ['is not a mapping', 'staticExport: hunter2\n'],
    ['staticExport.bundleUrl is a mapping', 'staticExport:\n  bundleUrl: { a: hunter2 }\n'],
    ['cannot be edited safely', 'staticExport:\n  enabled: !!str false\n'],
    ['line break', 'staticExport:\n  enabled: true\n  note: |\n    text'],
    ['line break', 'a:\n- b: 1\n  c: >\n    text'],
    ['anchor or alias', 'staticExport:\n  version: &v old\nchart: *v\n'],
    ['anchor or alias', 'staticExport: &s\n  version: old\nother:\n  <<: *s\n'],
    ['anchor or alias', 'base: &b\n  staticExport: { size: 1 }\n<<: *b\n'],
  ])('is refused: %s', (message, text) => {
    const found = refusalOf(text);
    expect(found).toContain(message);
    expect(found).not.toContain('hunter2');
  });
});

describe('readHelmValues', () => {
  it.each([
    ['', null],
    ['a: 1\n', null],
    ['staticExport: { enabled: false, bundleUrl: a, version: "b" }\n', null],
    ['staticExport: { enabled: true, bundleUrl: a, version: 20261121 }\n', null],
    ['staticExport: { enabled: true, bundleUrl: a }\n', null],
    ['staticExport: { enabled: true, bundleUrl: a, version: "1e10" }\n', { bundleUrl: 'a', version: '1e10' }],
  ])('finds in %j what is in service', (text, expected) => {
    expect(readHelmValues(text, 'staticExport')).toEqual(expected);
  });

  it('reads what other libraries read', () => {
    const text = edited('staticExport: {}\n');
    expect(parse(text)).toEqual({ staticExport: { enabled: true, ...wanted } });
  });
});

function bomb(): string {
  const line = (n: number) =>
    `a${n}: &a${n} [${Array(9)
      .fill(`*a${n - 1}`)
      .join(', ')}]\n`;
  return Array.from({ length: 8 }, (_, index) => line(index + 1)).join('');
}

/** Each shape: its key, its text with the fields to change marked, and what is around them. */
const shapes: [
  name: string,
  key: string,
  text: (fields: { url: string; version: string; enabled: string }) => string,
][] = [
  [
    'values of the chart',
    'staticExport',
    ({ url, version, enabled }) => `staticExport:\n  enabled: ${enabled}\n  bundleUrl: ${url}\n  version: ${version}\n`,
  ],
  [
    'an umbrella chart',
    'docs.staticExport',
    ({ url, version, enabled }) =>
      `global: {a: 1}\ndocs:\n  replicas: 2 # two\n  staticExport: { enabled: ${enabled}, bundleUrl: ${url}, version: ${version} }\nother:\n  staticExport: { enabled: false }\n`,
  ],
  [
    'a chart within a chart within a chart',
    'platform.docs.staticExport',
    ({ url, version, enabled }) =>
      `platform:\n    docs:\n        staticExport:\n            enabled: ${enabled}\n            bundleUrl: ${url}\n            version: ${version}\n    api: {}\n`,
  ],
  [
    "Flux's HelmRelease",
    'spec.values.staticExport',
    ({ url, version, enabled }) =>
      `apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: { name: docs }\nspec:\n  interval: 5m\n  chart:\n    spec: { chart: docs, version: "1.x" }\n  values:\n    staticExport:\n      enabled: ${enabled}\n      bundleUrl: ${url} # set by docferry\n      version: ${version}\n    replicas: 2\n`,
  ],
  [
    "Argo CD's valuesObject",
    'spec.source.helm.valuesObject.staticExport',
    ({ url, version, enabled }) =>
      `apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec:\n  source:\n    chart: docs\n    helm:\n      valuesObject:\n        staticExport:\n          version: ${version}\n          enabled: ${enabled}\n          bundleUrl: ${url}\n  destination: { namespace: docs }\n`,
  ],
  [
    'the second of three documents',
    'spec.values.staticExport',
    ({ url, version, enabled }) =>
      `# sources\nkind: HelmRepository\nspec: { interval: 1h }\n---\nkind: HelmRelease\nspec:\n  values:\n    staticExport:\n      enabled: ${enabled}\n      bundleUrl: ${url}\n      version: ${version}\n---\nkind: ConfigMap\ndata: { staticExport: "enabled: false" }\n`,
  ],
  [
    'the first of two documents, beside one with a list on the way',
    'spec.values.staticExport',
    ({ url, version, enabled }) =>
      `kind: HelmRelease\nspec:\n  values: {staticExport: {enabled: ${enabled}, bundleUrl: ${url}, version: ${version}}}\n---\nkind: Other\nspec: [a, b]\n`,
  ],
  [
    'JSON',
    'spec.values.staticExport',
    ({ url, version, enabled }) =>
      `{"spec": {"values": {\n\t"staticExport": {"enabled": ${enabled}, "bundleUrl": ${url}, "version": ${version}}\n}}}\n`,
  ],
  [
    'CRLF and comments everywhere',
    'a.b',
    ({ url, version, enabled }) =>
      `# top\r\na: # a\r\n  # before\r\n  b: # b\r\n    enabled: ${enabled} # e\r\n    bundleUrl: ${url} # u\r\n    version: ${version} # v\r\n  # after\r\n`,
  ],
  [
    'quoted keys',
    'docs.staticExport',
    ({ url, version, enabled }) =>
      `"docs":\n  'staticExport':\n    "enabled": ${enabled}\n    'bundleUrl': ${url}\n    version: ${version}\n`,
  ],
];

it.each(shapes)('changes three values of %s and no other byte', (_name, key, text) => {
  const before = text({ url: '"https://old.example/b.zip"', version: '"old"', enabled: 'false' });
  const after = text({ url: `"${urlOfV}"`, version: `"${v}"`, enabled: 'true' });
  expect(edited(before, key)).toBe(after);
});

it.each<[what: string, key: string, before: string, after: string]>([
  [
    'the last key of a way that is there',
    'docs.staticExport',
    'docs:\n   replicas: 2\nx: 1\n',
    'docs:\n   replicas: 2\n   staticExport:\n     enabled: true\n     bundleUrl: "«U»"\n     version: "«V»"\nx: 1\n',
  ],
  [
    'all keys of a way that is not there',
    'docs.staticExport',
    'x: 1\n',
    'x: 1\ndocs:\n  staticExport:\n    enabled: true\n    bundleUrl: "«U»"\n    version: "«V»"\n',
  ],
  [
    'an empty mapping in one of two documents',
    'spec.values.staticExport',
    'kind: A\n---\nspec:\n  values:\n    staticExport:\n',
    'kind: A\n---\nspec:\n  values:\n    staticExport:\n      enabled: true\n      bundleUrl: "«U»"\n      version: "«V»"\n',
  ],
])('adds %s', (_what, key, before, after) => {
  expect(edited(before, key)).toBe(filled(after));
});

it.each<[message: string, key: string, text: string]>([
  ['spec.sources is not a mapping', 'spec.sources.helm', 'spec:\n  sources:\n  - helm: {}\n'],
  ['a.b is an alias', 'a.b.c', 'x: &x { c: {} }\na:\n  b: *x\n'],
  ['a.b is in 2 of them', 'a.b', 'a: { b: {} }\n---\na: { b: {} }\n'],
  ['none of them has a.b: add it, empty, to one', 'a.b', 'a: {}\n---\nc: {}\n'],
  ['anchor or alias', 'a.b', 'a: &a\n  b: { enabled: false }\nc: *a\n'],
])('refuses a key: %s', (message, key, text) => {
  expect(refusalOf(text, key)).toContain(message);
});
