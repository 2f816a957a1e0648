import { z } from 'zod';
import { mostRequests } from '../budget/rules/permits.ts';
import { webhookEventTypes, webhookFormats } from '../runs/rules/webhook-event.ts';
import { calendarOfCron } from '../schedules/rules/schedule-settings.ts';
import { domain, duration, id, name, size, text, wholeNumber } from './field-schemas.ts';

/** `{ every: 15m }`, or `{ cron: "0 6 * * *", timezone: Europe/Berlin }`, each with an optional `jitter`. */
export const scheduleSchema = z
  .strictObject({
    every: duration({ min: '1s', max: '366d' })
      .refine((ms) => ms % 1000 === 0, 'expected whole seconds')
      .optional()
      .describe('Time between two starts. This or `cron`.'),
    cron: z
      .string()
      .refine(
        (text) => calendarOfCron(text) !== null,
        'expected five cron fields such as "0 6 * * *", or @daily and the like',
      )
      .meta({ title: 'cron expression', examples: ['0 6 * * *', '@daily'] })
      .optional()
      .describe('Minute, hour, day of month, month, day of week; or `@hourly`, `@daily` and the like.'),
    timezone: z
      .string()
      .refine(isTimeZone, 'expected a time zone such as Europe/Berlin')
      .meta({ title: 'time zone', examples: ['Europe/Berlin', 'UTC'] })
      .optional()
      .describe('Time zone of `cron`. Absent: `UTC`.'),
    jitter: duration({ min: '0s', max: '1d' })
      .optional()
      .describe(
        "Delays each start by up to this time, by a hash of the schedule's name. Absent: `1m` with `cron`; starts with `every` are spread anyway.",
      ),
  })
  .refine(({ every, cron }) => (every === undefined) !== (cron === undefined), 'expected either "every" or "cron"')
  .refine(({ cron, timezone }) => cron !== undefined || timezone === undefined, '"timezone" works only with "cron"')
  .meta({
    title: 'schedule',
    oneOf: [{ required: ['every'] }, { required: ['cron'] }],
    dependentRequired: { timezone: ['cron'] },
  });

export type ScheduleInput = z.output<typeof scheduleSchema>;

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

const budget = z.strictObject({
  requests: wholeNumber(1, mostRequests)
    .default(100)
    .describe(
      'Analytics requests the service allows the organization in a window. For more, shorten the window in proportion.',
    ),
  window: duration({ min: '100ms', max: '31d' }).prefault('1h').describe('Length of the sliding window.'),
  reserve: z
    .union([z.literal('auto'), wholeNumber(0, mostRequests)], 'expected a whole number from 0, or auto')
    .default(0)
    .describe(
      'Requests of each window that docferry always leaves to other clients. It leaves them what they are seen to use in any ' +
        'case; with `auto`, only that.',
    ),
  arrival: duration({ min: '1s', max: '10m' })
    .prefault('30s')
    .describe(
      "The longest a request can take to arrive after the worker's last check; a request without an answer counts that much longer.",
    ),
  spare: z
    .literal('verify', 'expected verify')
    .optional()
    .describe(
      'Use of spare requests, which would expire unused: `verify` re-reads what was verified least recently. Absent: none.',
    ),
});

const passes = {
  freshness: duration({ min: '1s', max: '366d' })
    .optional()
    .describe('How far `verifiedUpTo` may lie back before docferry sends `feedback.stale`. Absent: any time.'),
  incremental: scheduleSchema.optional().describe('When to read new entries. Absent: only on demand.'),
  review: scheduleSchema.optional().describe('When to look for changes of status.'),
  sweep: scheduleSchema.optional().describe('When to read everything again. Absent: only on demand.'),
};

const project = z.strictObject({
  id: id('a project id').describe("Identifier of the project in the service's addresses."),
  name: name()
    .optional()
    .describe('A name for people, shown beside the id; commands accept it. Unique within the organization.'),
  ...passes,
});

/** What `defaults.projects` may hold. */
export const projectDefaultsSchema = z.strictObject(passes);

const webhook = z.strictObject({
  name: id('a name').default('default').describe('Name in workflows and in the UI, unique within the organization.'),
  url: text('an https:// address')
    .meta({ title: 'text' })
    .describe('Address that receives the POST; treated as a secret, so it may hold a token from the environment.'),
  format: z
    .enum(webhookFormats, `expected ${webhookFormats.join(', ')}`)
    .default('standard')
    .describe('`standard` is signed JSON; `slack` and `teams` are what their incoming webhooks show as a message.'),
  secret: text(`\${NAME} of an environment variable`)
    .meta({ title: 'text' })
    .optional()
    .describe(
      'Key of the signature: `whsec_` and at least 24 random bytes in base64. Required with `format: standard`, and only there.',
    ),
  events: z
    .array(z.enum(webhookEventTypes, `expected ${webhookEventTypes.join(' or ')}`), 'expected a list of events')
    .min(1, 'expected at least one event')
    .optional()
    .describe('Events to send. Absent: all; with `slack` and `teams` all but those that every run sends.'),
});

const shared = {
  budget: budget
    .prefault({})
    .describe('How many analytics requests the organization may send, shared by all its projects.'),
  webhooks: z
    .array(webhook, 'expected a list of webhooks')
    .default([])
    .describe('Receivers of messages about what happens and what a person must act on; see webhooks.md.'),
  watchEvery: duration({ min: '1s', max: '1d' })
    .prefault('5m')
    .describe(
      'How often docferry looks what has become late, stale, starved, held, taken back or refused; only where there are webhooks.',
    ),
};

/** What `defaults.organizations` may hold. */
export const organizationDefaultsSchema = z.strictObject(shared);

/** An organization with such sites (contracts.md `organizations`). */
export function organizationSchema<Site extends z.ZodType>(site: Site) {
  return z
    .strictObject({
      id: id('an organization id').describe('A name of your choice; part of workflow ids, so do not change it later.'),
      apiKey: text(`\${NAME} of an environment variable`)
        .meta({ title: 'text' })
        .optional()
        .describe('Admin API key, best by reference to an environment variable. This or `apiKeyFile` is required.'),
      apiKeyFile: text('the path of a file')
        .optional()
        .describe('File that holds the admin API key, read again when it changes.'),
      ...shared,
      projects: z
        .array(project, 'expected a list of projects')
        .default([])
        .describe('Projects whose feedback is read.'),
      sites: z.array(site, 'expected a list of sites').default([]).describe('Sites that are exported.'),
    })
    .refine(
      ({ apiKey, apiKeyFile }) => (apiKey === undefined) !== (apiKeyFile === undefined),
      'expected either apiKey or apiKeyFile',
    )
    .meta({ oneOf: [{ required: ['apiKey'] }, { required: ['apiKeyFile'] }] });
}

const rollout = z
  .strictObject({
    directory: z
      .strictObject({
        path: text('the path of a folder').describe(
          'Folder that gets `releases/<version>/` and the symlink `current`.',
        ),
      })
      .optional()
      .describe('Unpack the site on this machine and switch a symlink to it.'),
    helmValues: z
      .strictObject({
        file: text('the path of a values file').describe(
          'YAML file whose `staticExport` is set; the rest stays as it is.',
        ),
      })
      .optional()
      .describe("Write the published address and version into a chart's values."),
  })
  .refine((target) => Object.keys(target).length === 1, 'expected one kind of target: directory or helmValues')
  .meta({ minProperties: 1, maxProperties: 1 });

const siteRule = z.enum(['refuse', 'warn', 'off'], 'expected refuse, warn or off').optional();

/** The rules of `src/bundle/rules/site-rules.ts` and `render-rules.ts`; a test checks that none is missing. */
const siteRules = z.strictObject({
  'no-page': siteRule.describe('No HTML page at all. Absent: `refuse`.'),
  'no-index-page': siteRule.describe('No `index.html` at the root. Absent: `refuse`.'),
  'no-404-page': siteRule.describe('No `404.html` at the root. Absent: `off`.'),
  'broken-link': siteRule.describe('Links to pages that are not there. Absent: `warn`.'),
  'missing-resource': siteRule.describe('Scripts, styles, images that are not there. Absent: `warn`.'),
  'external-resource': siteRule.describe('Parts of a page from other hosts. Absent: `warn`.'),
  'external-base': siteRule.describe('`<base>` to another host. Absent: `warn`.'),
  'external-refresh': siteRule.describe('`<meta>` refresh to another host. Absent: `warn`.'),
  'origin-link': siteRule.describe("Links to the site's own domain with its host. Absent: `warn`."),
  'service-worker': siteRule.describe('Registration of a service worker. Absent: `warn`.'),
  'server-file': siteRule.describe(
    'Files that web servers execute or read as settings, such as `.htaccess` and `*.php`. Absent: `refuse`.',
  ),
  'secret-file': siteRule.describe('Files that hold secrets, such as `.env`. Absent: `warn`.'),
  'secret-text': siteRule.describe('Text that looks like a key or token. Absent: `warn`.'),
  'source-map': siteRule.describe('Source maps. Absent: `warn`.'),
  'not-inspected': siteRule.describe('Files too large, or pages nested too deeply, to look into. Absent: `warn`.'),
  'narrow-reader': siteRule.describe('Zip forms at which a common reader stops with an error. Absent: `warn`.'),
  'page-does-not-render': siteRule.describe('With `render`: pages that show nothing. Absent: `warn`.'),
  'page-script-error': siteRule.describe('With `render`: errors that no script catches. Absent: `warn`.'),
  'page-request-failed': siteRule.describe('With `render`: requests for what is not there. Absent: `warn`.'),
  'page-external-request': siteRule.describe('With `render`: requests to other hosts. Absent: `warn`.'),
});

export type SiteRulesInput = z.output<typeof siteRules>;

const siteFields = {
  schedule: scheduleSchema.optional().describe('When to export the site. Absent: only on demand.'),
  lateAfter: duration({ min: '1s', max: '366d' })
    .optional()
    .describe(
      'docferry sends `export.late` when the last export that brought or confirmed a version is older than this. Absent: never.',
    ),
  job: z
    .strictObject({
      timeout: duration({ min: '1s', max: '31d' }).prefault('2h').describe('A job that takes longer is given up.'),
      attempts: wholeNumber(1, 100)
        .default(3)
        .describe('How many jobs docferry starts at most if they fail, vanish or take too long.'),
      startTimeout: duration({ min: '0s', max: '7d' })
        .prefault('1h')
        .describe('How long docferry repeats a start whose answer was lost; each repetition may start another job.'),
    })
    .prefault({})
    .describe("The service's export job."),
  bundle: z
    .strictObject({
      maxBytes: size().prefault('5GiB').describe('A site that unpacks to more is refused.'),
      maxFiles: wholeNumber(1, 10_000_000).default(200_000).describe('An archive with more files is refused.'),
      connections: wholeNumber(1, 64)
        .default(1)
        .describe('Connections a download uses; more than 1 helps if the source limits each connection.'),
      timeout: duration({ min: '1s', max: '12h' })
        .prefault('6h')
        .describe('A download that takes longer, all attempts together, is given up.'),
      rules: siteRules
        .prefault({})
        .describe('What to do with a site that breaks a rule about its content; see verification.md.'),
      render: z
        .strictObject({
          pages: wholeNumber(1, 1_000).describe('How many pages docferry opens.'),
          browser: text('the path of a program')
            .optional()
            .describe('Program of Chromium, Chrome or Edge. Absent: the one found on the machine.'),
          sandbox: z
            .boolean('expected true or false')
            .default(true)
            .describe("Whether the browser uses its own sandbox; `false` where it can't, as in most containers."),
        })
        .optional()
        .describe(
          'Opens sampled pages in a browser without network before a version is published. Absent: no page is opened.',
        ),
    })
    .prefault({})
    .describe('Limits of the archive, and rules for what is in it.'),
  approval: z
    .enum(['none', 'manual'], 'expected none or manual')
    .default('none')
    .describe('Whether a person approves a version before it goes into service: `docferry export approve`.'),
  approvalTimeout: duration({ min: '1s', max: '31d' })
    .optional()
    .describe('How long `approval: manual` waits; then the version counts as rejected. Absent: `7d`.'),
  rollout: z
    .array(rollout, 'expected a list of targets')
    .default([])
    .describe("Where a published version goes; `{domain}` in a path stands for the site's domain."),
};

const oneDomain = domain().describe('Bare host name of the site: no scheme, no port, no path. This or `domains`.');

/** A site to export (contracts.md `sites`). */
export const siteSchema = z.strictObject({ domain: oneDomain, ...siteFields });

/** An entry of `sites` as it is written: for one site or for several. */
export const siteEntrySchema = z
  .strictObject({
    domain: oneDomain.optional(),
    domains: z
      .array(domain(), 'expected a list of host names')
      .min(1, 'expected at least one host name')
      .optional()
      .describe(
        'Several sites with the same settings; write `{domain}` in the paths of their targets to keep them apart.',
      ),
    ...siteFields,
  })
  .meta({ oneOf: [{ required: ['domain'] }, { required: ['domains'] }] });

/** What `defaults.sites` may hold. */
export const siteDefaultsSchema = z.strictObject(siteFields);
