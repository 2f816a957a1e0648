import { z } from 'zod';
import { webhookEventTypes } from '../model/webhook-event.ts';
import { address, domain, duration, hostName, id, size, text, wholeNumber } from './field-schemas.ts';
import { parsePostgresAddress } from './postgres-address.ts';
import { scheduleSchema } from './schedule-schema.ts';

/*
 * All of `docferry.yaml` (DESIGN §5), also what a later version brings (`availability.ts`). Strict: an unknown key is
 * an error. Only shapes and single values are checked here; what concerns several fields is in `consistency.ts`. The
 * descriptions become the JSON Schema that editors read (`json-schema.ts`) and `docs/configuration.md`.
 */

const budget = z.strictObject({
  requests: wholeNumber(1, 1_000_000)
    .default(100)
    .describe('Analytics requests the service allows the organization in a window.'),
  window: duration({ min: '100ms', max: '31d' }).prefault('1h').describe('Length of the sliding window.'),
  reserve: z
    .union([z.literal('auto'), wholeNumber(0, 1_000_000)], 'expected a whole number from 0, or auto')
    .default(0)
    .describe(
      'Requests of each window left to other programs of the organization at least. What they are seen to use is left ' +
        'to them besides; `auto` leaves that alone.',
    ),
  arrival: duration({ min: '1s', max: '10m' })
    .prefault('30s')
    .describe(
      'The longest a request can take to arrive after the last check; a request without an answer counts so long.',
    ),
  spare: z
    .literal('verify', 'expected verify')
    .optional()
    .describe(
      'What to do with requests that would expire unused: `verify` reads again what was proved least recently. Absent: ' +
        'nothing.',
    ),
});

const project = z.strictObject({
  id: id('a project id').describe("Identifier of the project in the service's addresses."),
  incremental: scheduleSchema.optional().describe('When to read new entries. Absent: never by itself.'),
  review: scheduleSchema.optional().describe('When to look for changes of status.'),
  sweep: scheduleSchema.optional().describe('When to read everything again. Absent: never by itself.'),
});

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

/** By the names that `src/bundle/site/site-rules.ts` gives them; a test sees to it that none is missing. */
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
  'secret-file': siteRule.describe('Files that hold secrets, such as `.env`. Absent: `warn`.'),
  'secret-text': siteRule.describe('Text that looks like a key or token. Absent: `warn`.'),
  'source-map': siteRule.describe('Source maps. Absent: `warn`.'),
  'not-inspected': siteRule.describe('Files too large to look into. Absent: `warn`.'),
});

export type SiteRulesInput = z.output<typeof siteRules>;

const site = z.strictObject({
  domain: domain().describe('Bare host name of the site: no scheme, no port, no path.'),
  schedule: scheduleSchema.optional().describe('When to export the site. Absent: never by itself.'),
  job: z
    .strictObject({
      timeout: duration({ min: '1s', max: '31d' }).prefault('2h').describe('A job that takes longer is given up.'),
      attempts: wholeNumber(1, 100)
        .default(3)
        .describe('How many jobs are started at most when they fail, vanish or take too long.'),
    })
    .prefault({})
    .describe("The service's export job."),
  bundle: z
    .strictObject({
      maxBytes: size().prefault('5GiB').describe('A site that unpacks to more is refused.'),
      maxFiles: wholeNumber(1, 10_000_000).default(200_000).describe('An archive with more files is refused.'),
      connections: wholeNumber(1, 64)
        .default(1)
        .describe('Connections a download uses; more than 1 in a later version.'),
      rules: siteRules
        .prefault({})
        .describe('What becomes of a site that breaks a rule about its content; see verification.md.'),
    })
    .prefault({})
    .describe('Limits of the archive, and rules for what is in it.'),
  approval: z
    .enum(['none', 'manual'], 'expected none or manual')
    .default('none')
    .describe('Whether a person approves a version before it is rolled out; `manual` in a later version.'),
  rollout: z.array(rollout, 'expected a list of targets').default([]).describe('Where a published version goes.'),
});

const webhook = z.strictObject({
  name: id('a name')
    .default('default')
    .describe('What it is called in workflows and in the UI; each webhook of an organization has its own.'),
  url: text('an https:// address')
    .meta({ title: 'text' })
    .describe('Address that is sent a POST; counts as a secret, so that it may hold a token from the environment.'),
  secret: text(`\${NAME} of an environment variable`)
    .meta({ title: 'text' })
    .describe('Key of the signature: `whsec_` and at least 24 random bytes in base64.'),
  events: z
    .array(z.enum(webhookEventTypes, `expected ${webhookEventTypes.join(' or ')}`), 'expected a list of events')
    .min(1, 'expected at least one event')
    .optional()
    .describe('Events it is told of. Absent: all.'),
});

const organization = z
  .strictObject({
    id: id('an organization id').describe('A name of your choice; part of workflow ids, so do not change it later.'),
    apiKey: text(`\${NAME} of an environment variable`)
      .meta({ title: 'text' })
      .optional()
      .describe('Admin API key, best by reference to an environment variable. This or `apiKeyFile` is required.'),
    apiKeyFile: text('the path of a file')
      .optional()
      .describe('File that holds the admin API key, read again when it changes.'),
    budget: budget.prefault({}).describe('Requests an hour, shared by all projects of the organization.'),
    webhooks: z
      .array(webhook, 'expected a list of webhooks')
      .default([])
      .describe('Who is told of finished passes and exports, in counts; see webhooks.md.'),
    projects: z.array(project, 'expected a list of projects').default([]).describe('Projects whose feedback is read.'),
    sites: z.array(site, 'expected a list of sites').default([]).describe('Sites that are exported.'),
  })
  .refine(
    ({ apiKey, apiKeyFile }) => (apiKey === undefined) !== (apiKeyFile === undefined),
    'expected either apiKey or apiKeyFile',
  )
  .meta({ oneOf: [{ required: ['apiKey'] }, { required: ['apiKeyFile'] }] });

const bundles = z
  .strictObject({
    directory: text('the path of a folder')
      .optional()
      .describe('Folder that holds the published versions. Absent: `./data/bundles`.'),
    s3: z
      .strictObject({
        bucket: z
          .string('expected the name of a bucket')
          .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'expected the name of a bucket, without s3:// and path')
          .meta({ title: 'text' })
          .describe('Name of the bucket, which has to exist.'),
        prefix: z
          .string('expected text')
          .regex(
            /^([A-Za-z0-9_][A-Za-z0-9._-]*(\/|$))*$/,
            'expected names with slashes between them, e.g. docs/bundles',
          )
          .default('')
          .meta({ title: 'text' })
          .describe('What every key begins with, e.g. `docs/bundles`. Absent: the whole bucket is the store.'),
        endpoint: address()
          .optional()
          .describe('Address of the object store; the bucket is then named in the path. Absent: that of AWS.'),
        region: text('the name of a region')
          .optional()
          .describe("Region of the bucket. Absent: by AWS's own variables and profiles."),
        workFolder: text('the path of a folder')
          .default('./data/bundles-work')
          .describe('Folder of each machine for downloads on their way to the bucket, and archives to unpack.'),
      })
      .optional()
      .describe("A bucket instead of a folder. Credentials come by AWS's own variables, profiles and roles."),
    publicUrl: address()
      .default('http://localhost:8090')
      .describe('Address under which deployments reach the published versions.'),
  })
  .refine(({ directory, s3 }) => directory === undefined || s3 === undefined, 'expected either directory or s3')
  .meta({ not: { required: ['directory', 's3'] } });

const handling = z.enum(['keep', 'hash', 'drop'], 'expected keep, hash or drop').default('keep');

const temporal = z.strictObject({
  address: text('host:port')
    .optional()
    .describe("`host:port` of Temporal. Absent: by Temporal's own variables and profiles, else `localhost:7233`."),
  namespace: text('the name of a namespace')
    .optional()
    .describe("Namespace. Absent: by Temporal's own variables and profiles, else `default`."),
  taskQueue: text('the name of a task queue').default('docferry').describe('Task queue of the workers.'),
  profile: text('the name of a profile').optional().describe("Profile of Temporal's own configuration file."),
});

const service = z.strictObject({
  baseUrl: address().describe('Address of the documentation service; `https://`, or `http://` on this machine.'),
  analyticsBaseUrl: address().optional().describe('Address of the analytics area. Absent: `baseUrl`.'),
  linkHosts: z
    .array(hostName(), 'expected a list of host names')
    .default([])
    .describe('Hosts that links may lead to besides public addresses: private or loopback ones must be listed here.'),
  allowInsecure: z
    .boolean('expected true or false')
    .default(false)
    .describe('Permits `http://` for other machines and for links.'),
});

const store = z.strictObject({
  feedback: z
    .string()
    .regex(/^(sqlite:.+|postgres(ql)?:\/\/.+)$/, 'expected sqlite:FILE or postgres://…')
    .superRefine((value, context) => {
      const address = /^postgres(ql)?:\/\/./.test(value) ? parsePostgresAddress(value) : null;
      if (typeof address === 'string') context.addIssue(address);
    })
    .meta({ title: 'address of a database' })
    .default('sqlite:./data/feedback.db')
    .describe(
      'Database of the feedback: `sqlite:FILE` on a local disk, or `postgres://user:password@host:5432/database`, the password by reference to an environment variable (docs/operations.md).',
    ),
  bundles: bundles.prefault({}).describe('Where versions of sites are published.'),
  keep: wholeNumber(1, 100_000).default(10).describe('Versions of each site that are kept.'),
});

const privacy = z.strictObject({
  contacts: handling.describe('What to do with the e-mail addresses people left.'),
  comments: handling.describe('What to do with what people wrote: comments and code.'),
  hashKey: text(`\${NAME} of an environment variable`)
    .meta({ title: 'text' })
    .optional()
    .describe('Key of `hash`, at least 32 characters, best by reference to an environment variable.'),
  keepFields: z
    .array(text('the name of a field'), 'expected a list of names')
    .default([])
    .describe('With `hash` or `drop`: fields unknown to the interface that are kept, such as `locale`.'),
  retention: duration({ min: '1d', max: '36500d' })
    .optional()
    .describe('Age at which an entry loses contact, comment, code and unknown fields. Absent: never.'),
});

export const configSchema = z.strictObject(
  {
    temporal: temporal.prefault({}).describe('The Temporal that runs everything.'),
    service: service.describe('The documentation service.'),
    organizations: z
      .array(organization, 'expected a list of organizations')
      .min(1, 'expected at least one organization')
      .describe('Organizations of the service, each with its key and its budget.'),
    store: store.prefault({}).describe('Where feedback and published versions are kept.'),
    privacy: privacy.prefault({}).describe('What becomes of personal data.'),
  },
  'expected a mapping',
);

export type ConfigInput = z.output<typeof configSchema>;
