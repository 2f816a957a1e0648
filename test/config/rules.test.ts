import { describe, expect, it } from 'vitest';
import { parseDuration, parseSize } from '../../src/config/field-schemas.ts';
import { failureOf, load, minimal, organizationWith, problemsOf } from './config-folder.ts';

const site = (more: string) => organizationWith(`sites:\n  - domain: docs.acme.example\n    ${more}`);
const rules = (rule: string) => site(`bundle: { rules: { ${rule} } }`);
const s3 = (fields: string) => `${minimal}store: { bundles: { s3: { ${fields} } } }\n`;

const privacy = (fields: string) => `${minimal}privacy: { ${fields} }\n`;

describe('a configuration error', () => {
  it('names path, line and column of the field, what it held and what is allowed, for all problems at once', () => {
    const yaml = organizationWith('budget:\n  requests: plenty\n  window: 1 hour\nprojects: [{ id: "a b" }]');
    const error = failureOf(() => load(yaml));
    expect(error.message.split('\n')).toEqual([
      expect.stringMatching(/docferry\.yaml cannot be used:$/),
      '  organizations[0].budget.requests (line 7, column 17): expected a whole number from 1 to 10000; it is "plenty"',
      expect.stringMatching(
        /^ {2}organizations\[0\]\.budget\.window \(line 8, column 15\): expected a duration .*; it is "1 hour"$/,
      ),
      expect.stringMatching(
        /^ {2}organizations\[0\]\.projects\[0\]\.id \(line 9, column 22\): expected a project id .*; it is "a b"$/,
      ),
    ]);
    expect(error.problems[0]).toMatchObject({
      path: 'organizations[0].budget.requests',
      position: { line: 7, column: 17 },
    });
  });

  it('suggests the key that was meant', () => {
    expect(problemsOf(organizationWith('bugdet: { requests: 10 }'))).toEqual([
      'organizations[0].bugdet: unknown key; did you mean "budget"?',
    ]);
    expect(problemsOf(organizationWith('budget: { limit: 10 }'))).toEqual([
      'organizations[0].budget.limit: unknown key; expected one of requests, window, reserve, arrival',
    ]);
    expect(problemsOf(site('rollout: [{ directory: { paths: ./site } }]'))[1]).toBe(
      'organizations[0].sites[0].rollout[0].directory.paths: unknown key; did you mean "path"?',
    );
  });

  it('says what is missing', () => {
    expect(problemsOf('organizations: [{ id: acme, apiKey: k }]\n')).toEqual([
      'service: is missing: expected a mapping',
    ]);
    expect(problemsOf('service: { baseUrl: https://a.example }\norganizations: []\n')[0]).toMatch(
      /at least one organization/,
    );
  });
});

describe('values', () => {
  const bad: [field: string, yaml: string, message: RegExp][] = [
    ['organizations[0].budget.requests', organizationWith('budget: { requests: 0 }'), /whole number from 1/],
    ['organizations[0].budget.requests', organizationWith('budget: { requests: 1.5 }'), /whole number from 1/],
    ['organizations[0].budget.reserve', organizationWith('budget: { reserve: -1 }'), /whole number from 0/],
    [
      'organizations[0].budget.reserve',
      organizationWith('budget: { requests: 10, reserve: 10 }'),
      /less than requests, which is 10/,
    ],
    ['organizations[0].budget.window', organizationWith('budget: { window: 0s }'), /duration from/],
    ['organizations[0].budget.arrival', organizationWith('budget: { arrival: 30 }'), /duration from/],
    ['organizations[0].refresh.share', organizationWith('refresh: { share: 0% }'), /share above 0% .* it is "0%"/],
    ['organizations[0].refresh.share', organizationWith('refresh: { share: 100.1% }'), /up to 100%/],
    [
      'organizations[0].refresh.share',
      organizationWith('refresh: { share: 50 }'),
      /with its sign, such as 50%; it is 50/,
    ],
    ['organizations[0].refresh.every', organizationWith('refresh: { every: 2h }'), /duration from 1s to 1h/],
    ['organizations[0].refresh.every', organizationWith('refresh: { every: 1500ms }'), /whole seconds/],
    ['organizations[0].projects[0].weight', organizationWith('projects: [{ id: p, weight: 0 }]'), /from 0.01 to 100/],
    [
      'organizations[0].projects[0].atMost',
      organizationWith('projects: [{ id: p, atMost: 15m }]'),
      /goes with `refresh` of the organization/,
    ],
    [
      'organizations[0].projects[0].atMost',
      organizationWith('refresh: { every: 5m }\nprojects: [{ id: p, atMost: 4m }]'),
      /at least 5 min, the `refresh.every` of the organization; it is "4m"/,
    ],
    [
      'organizations[0].refresh.share',
      organizationWith('refresh: { share: 20% }\nprojects: [{ id: p, atMost: 5m }]'),
      /expected at least 24%: the deadlines \(`atMost`\) of 1 project take half of it; it is "20%"/,
    ],
    [
      'organizations[0].refresh.share',
      organizationWith('budget: { requests: 10 }\nrefresh: { share: 90% }\nprojects: [{ id: p, atMost: 5m }]'),
      /would need 240%; make them longer, or give fewer projects one/,
    ],
    ['organizations[0].projects[0].id', organizationWith('projects: [{ id: ../x }]'), /project id/],
    ['organizations[0].projects[0].id', organizationWith(`projects: [{ id: ${'x'.repeat(65)} }]`), /up to 64/],
    ['organizations[0].sites[0].schedule', site('schedule: {}'), /either "every" or "cron"/],
    ['organizations[0].sites[0].schedule.every', site('schedule: { every: often }'), /duration/],
    ['organizations[0].sites[0].schedule.every', site('schedule: { every: 1500ms }'), /whole seconds/],
    [
      'organizations[0].sites[0].schedule',
      site('schedule: { every: 1h, cron: "0 6 * * *" }'),
      /either "every" or "cron"/,
    ],
    [
      'organizations[0].sites[0].schedule',
      site('schedule: { every: 1h, timezone: UTC }'),
      /"timezone" works only with "cron"/,
    ],
    ['organizations[0].sites[0].schedule.cron', site('schedule: { cron: "0 25 * * *" }'), /cron/],
    [
      'organizations[0].sites[0].schedule.timezone',
      site('schedule: { cron: "0 6 * * *", timezone: Mars/Base }'),
      /time zone/,
    ],
    ['organizations[0].sites[0].job.attempts', site('job: { attempts: 0 }'), /whole number/],
    ['organizations[0].sites[0].bundle.maxBytes', site('bundle: { maxBytes: big }'), /size/],
    ['organizations[0].sites[0].approval', site('approval: maybe'), /none or manual/],
    ['organizations[0].sites[0].bundle.rules.broken-link', rules('broken-link: asks'), /refuse, ask, warn or off/],
    [
      'organizations[0].sites[0].bundle.rules.broken-link',
      rules('broken-link: { level: ask }'),
      /expected refuse, ask/,
    ],
    [
      'organizations[0].sites[0].bundle.rules.pages-removed',
      rules('pages-removed: 5'),
      /or a level with a limit such as/,
    ],
    [
      'organizations[0].sites[0].bundle.rules.pages-removed.above',
      rules('pages-removed: { level: ask, above: 10 }'),
      /share/,
    ],
    ['organizations[0].sites[0].bundle.rules.size-changed.level', rules('size-changed: { above: 10% }'), /refuse, ask/],
    [
      'organizations[0].sites[0].bundle.rules.pages-changed.below',
      rules('pages-changed: { level: ask, below: 4 }'),
      /unknown key/,
    ],
    [
      'organizations[0].sites[0].bundle.rules.too-few-pages.below',
      rules('too-few-pages: { level: ask, below: 0 }'),
      /whole number/,
    ],
    ['organizations[0].sites[0].approvalTimeout', site('approval: manual\n    approvalTimeout: 90d'), /duration from/],
    [
      'organizations[0].sites[0].rollout[0]',
      site('rollout: [{}]'),
      /a place \(directory, helmValues or bucket\), run or check/,
    ],
    [
      'organizations[0].sites[0].rollout[0]',
      site('rollout: [{ directory: { path: a }, helmValues: { file: b } }]'),
      /one place at most/,
    ],
    ['organizations[0].sites[0].rollout[0].helmValues.file', site('rollout: [{ helmValues: {} }]'), /values file/],
    ...['https://token@git.example/r.git', 'ssh://git:secret@git.example/r.git'].map(
      (remote): [string, string, RegExp] => [
        'organizations[0].sites[0].rollout[0].git.repository',
        site(`rollout: [{ helmValues: { file: a }, git: { repository: "${remote}" } }]`),
        /holds credentials: remove them/,
      ],
    ),
    [
      'organizations[0].sites[0].rollout[1].bucket.bucket',
      site('rollout: [{ bucket: { bucket: acme-site, prefix: a } }, { bucket: { bucket: acme-site, prefix: a/ } }]'),
      /bucket and prefix/,
    ],
    [
      'organizations[0].sites[0].rollout[0].bucket.bucket',
      `${site('rollout: [{ bucket: { bucket: acme-site, prefix: a } }]')}store: { bundles: { s3: { bucket: acme-site, prefix: a/b } } }\n`,
      /these keys are those of the bundle store/,
    ],
    [
      'organizations[0].sites[0].rollout[0].run',
      site('rollout: [{ run: [] }]'),
      /a program and its arguments as a list/,
    ],
    [
      'organizations[0].sites[0].rollout[0].runTimeout',
      site('rollout: [{ directory: { path: a }, runTimeout: 5m }]'),
      /goes with "run" only/,
    ],
    [
      'organizations[0].sites[0].rollout[0].check.url',
      site('rollout: [{ check: { url: docs.acme.example } }]'),
      /http\(s\) address/,
    ],
    [
      'organizations[0].sites[0].rollout[0].helmValues.key',
      site('rollout: [{ helmValues: { file: a, key: a..b } }]'),
      /keys with dots/,
    ],
    [
      'organizations[0].sites[0].rollout[0].git',
      site('rollout: [{ run: [a], git: { repository: /r.git } }]'),
      /"directory" and "helmValues" only/,
    ],
    [
      'organizations[0].sites[0].rollout[0].git.repository',
      site('rollout: [{ helmValues: { file: a }, git: { repository: "ext::sh -c x" } }]'),
      /address of a repository/,
    ],
    [
      'organizations[0].sites[0].rollout[0].git.branch',
      site('rollout: [{ helmValues: { file: a }, git: { repository: /r.git, branch: --force } }]'),
      /name of a branch/,
    ],
    [
      'organizations[0].sites[0].rollout[0].helmValues.file',
      site('rollout: [{ helmValues: { file: ../a }, git: { repository: /r.git } }]'),
      /within the repository/,
    ],
    [
      'organizations[0].sites[0].rollout[0].directory.path',
      site('rollout: [{ directory: { path: .git/hooks }, git: { repository: /r.git } }]'),
      /within the repository/,
    ],
    ['service.baseUrl', minimal.replace('https://docs-service.example', 'docs-service.example'), /http\(s\) address/],
    ['service.baseUrl', minimal.replace('https:', 'http:'), /allowInsecure/],
    ['service.baseUrl', minimal.replace('https:', 'ftp:'), /http\(s\) address/],
    [
      'service.baseUrl',
      minimal.replace('https://', 'https://:hunter2@'),
      /without credentials.*it is "https:\/\/…@docs/,
    ],
    [
      'service.linkHosts[0]',
      `${minimal.replace(' }', ', linkHosts: ["https://a.example"] }')}`,
      /expected a host name in lower case, or host:port/,
    ],
    ['store.feedback', `${minimal}store: { feedback: mysql://db }\n`, /sqlite:FILE/],
    ['store.keep', `${minimal}store: { keep: 0 }\n`, /whole number/],
    [
      'store.bundles',
      `${minimal}store: { bundles: { directory: ./b, s3: { bucket: docs } } }\n`,
      /either directory or s3/,
    ],
    ['store.bundles.s3.bucket', s3('bucket: "s3://docs/b"'), /without s3:\/\/ and path/],
    ['store.bundles.s3.bucket', s3('prefix: docs'), /required|name of a bucket/],
    ['store.bundles.s3.prefix', s3('bucket: docs, prefix: ../other'), /names with slashes/],
    ['store.bundles.s3.endpoint', s3('bucket: docs, endpoint: "minio:9000"'), /http\(s\) address/],
    ['store.bundles.s3.endpoint', s3('bucket: docs, endpoint: "http://minio:9000"'), /allowInsecure/],
    ['store.bundles.s3.accessKeyId', s3('bucket: docs, accessKeyId: AKIA'), /unknown key/],
    ['privacy.contacts', `${minimal}privacy: { contacts: hide }\n`, /keep, hash or drop/],
    ['privacy.hashKey', privacy('contacts: hash'), /is missing: expected a key, because privacy.contacts is hash/],
    ['privacy.hashKey', privacy('contacts: drop, comments: hash'), /because privacy.comments is hash/],
    ['privacy.hashKey', privacy('contacts: drop, hashKey: k'), /^[^;]*goes with contacts: hash or comments: hash$/],
    ['privacy.keepFields', privacy('keepFields: [locale]'), /works only with hash or drop/],
    [
      'privacy.keepFields[1]',
      privacy('comments: drop, keepFields: [locale, contact]'),
      /is not in the interface; it is "contact"/,
    ],
    ['privacy.keepFields', privacy('comments: drop, keepFields: locale'), /list of names/],
    ['privacy.retention', privacy('retention: 1h'), /duration from 1d/],
    ['privacy.retention', privacy('retention: forever'), /duration from 1d/],
  ];
  it.each(bad)('refuses %s in %j', (field, yaml, message) => {
    const problems = problemsOf(yaml);
    expect(problems).toHaveLength(1);
    expect(problems[0]?.startsWith(`${field}: `)).toBe(true);
    expect(problems[0]).toMatch(message);
  });

  it.each([
    ['https://docs.acme.example', 'docs.acme.example'],
    ['docs.acme.example/', 'docs.acme.example'],
    ['docs.acme.example:8080', 'docs.acme.example'],
    ['Docs.Acme.Example', 'docs.acme.example'],
    ['dócs.example', 'xn--dcs-gna.example'],
  ])('refuses the domain %j and suggests %j', (domain, suggestion) => {
    expect(problemsOf(organizationWith(`sites: [{ domain: "${domain}" }]`))[0]).toContain(
      `did you mean "${suggestion}"?`,
    );
  });

  it.each(['..', 'a..b', '-a.example', 'a/../b', ''])('refuses the domain %j', (domain) => {
    expect(problemsOf(organizationWith(`sites: [{ domain: "${domain}" }]`))[0]).toContain('expected a bare host name');
  });

  it('refuses what is listed twice, across organizations too', () => {
    const second = `  - id: beta\n    apiKey: \${ACME_API_KEY}\n    projects: [{ id: p }]\n    sites: [{ domain: a.example, rollout: [{ directory: { path: site } }, { helmValues: { file: deploy/v.yaml } }] }]\n`;
    const first = organizationWith(
      'projects: [{ id: p }]\nsites: [{ domain: a.example, rollout: [{ directory: { path: ./site/ } }, { helmValues: { file: deploy//v.yaml } }] }]',
    );
    expect(problemsOf(first + second)).toEqual([
      'organizations[1].projects[0].id: this project is listed twice',
      'organizations[1].sites[0].domain: this domain is listed twice',
      'organizations[1].sites[0].rollout[0].directory.path: this folder is listed twice',
      'organizations[1].sites[0].rollout[1].helmValues.file: this values file is listed twice',
    ]);
    expect(problemsOf(`${minimal}  - id: acme\n    apiKey: k\n`)).toEqual([
      'organizations[1].id: this organization is listed twice',
    ]);
  });

  it.each([
    ['directory.path', 'folder', 'directory: { path: site }', 'directory: { path: ./site/ }', '/r.git'],
    ['directory.path', 'folder', 'directory: { path: . }', 'directory: { path: ./ }', '/r.git'],
    ['directory.path', 'folder', 'directory: { path: a/site }', 'directory: { path: a//./site }', '/r/'],
    ['helmValues.file', 'values file', 'helmValues: { file: v.yaml }', 'helmValues: { file: ./v.yaml }', '/r'],
  ])('refuses a %s of a repository that is listed twice, spelt otherwise', (field, what, first, second, again) => {
    const git = (repository: string) => `git: { repository: "ssh://git@git.acme.example${repository}" }`;
    const sites = (path: string) =>
      organizationWith(
        `sites: [{ domain: a.example, rollout: [{ ${first}, ${git('/r.git')} }] }, { domain: b.example, rollout: [{ ${path}, ${git(again)} }] }]`,
      );
    expect(problemsOf(sites(second))).toEqual([
      `organizations[0].sites[1].rollout[0].${field}: this ${what} is listed twice`,
    ]);
  });

  it('permits http:// for this machine, and elsewhere with allowInsecure', () => {
    expect(load(minimal.replace('https://docs-service.example', 'http://localhost:8787/')).service.baseUrl).toBe(
      'http://localhost:8787',
    );
    const insecure = minimal.replace('https://docs-service.example', 'http://docs.internal, allowInsecure: true');
    expect(load(insecure).service.allowInsecure).toBe(true);
  });

  it('writes published addresses as programs ask for them', () => {
    const yaml = `${minimal}store: { bundles: { publicUrl: "HTTPS://Bundles.example/pre fix/" } }\n`;
    expect(load(yaml).store.bundles.publicUrl).toBe('https://bundles.example/pre%20fix');
  });

  it('permits links to IPv6 addresses as links write them, and no others', () => {
    const linkHosts = (...hosts: string[]) => minimal.replace(' }', `, linkHosts: ${JSON.stringify(hosts)} }`);
    const hosts = ['[::1]', '[fd00::a]:8788', '127.0.0.1:8788'];
    expect(load(linkHosts(...hosts)).service.linkHosts).toEqual(hosts);
    for (const host of ['::1', '[0:0:0:0:0:0:0:1]', '[FD00::A]', '[::1', '[a.example]'])
      expect(problemsOf(linkHosts(host))[0]).toContain(`it is "${host}"`);
  });

  it('reads a rule about a change as a level, or as a level with a limit', () => {
    const read = (rule: string) => load(rules(rule)).organizations[0]?.sites[0]?.bundle.rules;
    expect(read('pages-removed: { level: ask, above: 10% }, broken-link: ask, too-few-pages: refuse')).toEqual({
      'pages-removed': { level: 'ask', limit: 0.1 },
      'broken-link': 'ask',
      'too-few-pages': { level: 'refuse', limit: 2 },
    });
    expect(read('size-changed: ask, too-few-pages: { level: ask, below: 40 }')).toEqual({
      'size-changed': { level: 'ask', limit: 0 },
      'too-few-pages': { level: 'ask', limit: 40 },
    });
    expect(read('')).toEqual({});
  });

  it('keeps a second base address for analytics', () => {
    const yaml = minimal.replace(' }', ', analyticsBaseUrl: https://analytics.example/api/ }');
    expect(load(yaml).service.analyticsBaseUrl).toBe('https://analytics.example/api');
  });
});

describe('who may do what in the console', () => {
  it('keeps groups and logins apart', () => {
    const text = 'console: { operators: { groups: [docs-leads], logins: [ada@acme.example] }, viewers: {} }';
    const nobody = { groups: [], logins: [] };
    expect(load(`${minimal}${text}\n`).console).toMatchObject({
      viewers: nobody,
      operators: { groups: ['docs-leads'], logins: ['ada@acme.example'] },
      contacts: nobody,
    });
    expect(load(minimal).console.viewers).toBeNull();
  });

  it('refuses one list for both, and shows the two that are expected', () => {
    const message = 'expected two lists, such as { groups: [docs-leads], logins: [ada@acme.example] }';
    expect(problemsOf(`${minimal}console: { operators: [docs-leads] }\n`)).toEqual([
      expect.stringContaining(`console.operators: ${message}`),
    ]);
    const [, shown = ''] = /such as (.+)/.exec(message) ?? [];
    expect(load(`${minimal}console: { operators: ${shown} }\n`).console.operators.groups).toEqual(['docs-leads']);
  });

  it.each(['5', '"docs-leads"', '{ groups: docs-leads }', '{ logins: [terminal] }', '{ logins: [TERMINAL] }'])(
    'refuses %s with one problem',
    (people) => {
      const problems = problemsOf(`${minimal}console: { operators: ${people} }\n`);
      expect(problems).toEqual([expect.stringMatching(/console\.operators.*expected/)]);
    },
  );

  it('refuses an idle time that no session reaches', () => {
    expect(problemsOf(`${minimal}console: { idle: 7d }\n`)).toEqual([expect.stringMatching(/console\.idle.*lifetime/)]);
    expect(load(`${minimal}console: { idle: 7d, lifetime: 7d }\n`).console).toMatchObject({ lifetimeMs: 604_800_000 });
  });
});

describe('the address of the console', () => {
  it.each(['https://acme.example/docferry', 'https://acme.example/docferry/', 'http://a.example/x?'])(
    'is a separate host name, not %s',
    (url) => {
      expect(problemsOf(`${minimal}console: { url: "${url}" }\n`)[0]).toMatch(
        /console\.url.*(separate host name|query)/,
      );
    },
  );

  const both = (url: string, previewUrl: string) =>
    `${minimal}console: { url: "${url}", previewUrl: "${previewUrl}" }\n`;

  it.each([
    ['https://docferry.acme.example', 'https://*.acme.example'],
    ['https://Docs.Ferry.acme.example/', 'https://*.acme.example:443/'],
  ])('is no name of a preview: %s and %s', (url, previewUrl) => {
    expect(problemsOf(both(url, previewUrl))).toEqual([
      expect.stringMatching(/^console\.previewUrl: expected names that the console's own is none of/),
    ]);
  });

  it.each(['https://*.preview.acme.example', 'https://*.acme.example:8443', 'http://10.1.2.3:8089'])(
    'goes with previews at %s',
    (previewUrl) => {
      expect(load(both('https://docferry.acme.example', previewUrl)).console.previewUrl).toBe(previewUrl);
    },
  );

  it('may end with a slash', () => {
    expect(load(`${minimal}console: { url: "https://docferry.acme.example/" }\n`).console.url).toBe(
      'https://docferry.acme.example',
    );
  });
});

it('knows a public key from a text that looks like one', () => {
  const yaml = (key: string) => `${minimal}store: { bundles: { signing: { keyFile: a.key, formerKeys: [${key}] } } }\n`;
  const key = 'RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3';
  expect(load(yaml(key)).store.bundles.signing?.formerKeys).toEqual([key]);
  expect(problemsOf(yaml(key.replace('RWQ', 'RWY')))).toEqual([
    expect.stringContaining('store.bundles.signing.formerKeys[0]: expected the second line of a .pub file'),
  ]);
  const own = yaml('').replace('formerKeys: []', `publicKey: ${key}`);
  expect(load(own).store.bundles.signing?.publicKey).toBe(key);
  expect(problemsOf(own.replace('RWQ', 'RWY'))).toEqual([
    expect.stringContaining('store.bundles.signing.publicKey: expected the second line of a .pub file'),
  ]);
});

describe('parseDuration', () => {
  it.each([
    ['500ms', 500],
    ['20s', 20_000],
    ['15m', 900_000],
    ['1h', 3_600_000],
    ['7d', 604_800_000],
    ['1.5h', 5_400_000],
    ['1.1h', 3_960_000],
    ['2.3d', 198_720_000],
    ['0s', 0],
  ])('reads %j', (text, milliseconds) => {
    expect(parseDuration(text)).toBe(milliseconds);
  });

  it.each(['', '20', 's', '-1s', '1 h', '1H', '1w', '1h30m', '1e3s', '9999999999999999d', '0.5ms'])(
    'refuses %j',
    (text) => {
      expect(parseDuration(text)).toBeNull();
    },
  );
});

describe('parseSize', () => {
  it.each([
    ['5GiB', 5 * 1024 ** 3],
    ['10MB', 10_000_000],
    ['4096', 4096],
    ['4096B', 4096],
    ['1.5 KiB', 1536],
    ['2.2GiB', 2_362_232_013],
    ['1.1MB', 1_100_000],
  ])('reads %j', (text, bytes) => {
    expect(parseSize(text)).toBe(bytes);
  });

  it.each(['', 'GiB', '-1', '5gb', '5G', '1e9', '0.3B', '1.5', '99999999TiB'])('refuses %j', (text) => {
    expect(parseSize(text)).toBeNull();
  });
});
