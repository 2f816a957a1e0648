import { z } from 'zod';
import { handovers } from '../model/temporal-settings.ts';
import { webhookEventTypes } from '../model/webhook-event.ts';
import { address, duration, id, linkHost, text, wholeNumber } from './field-schemas.ts';
import { scheduleSchema } from './schedule-schema.ts';
import { siteSchema } from './site-schema.ts';
import { storeSchema } from './store-schema.ts';

/*
 * The schema of `docferry.yaml` (contracts.md), with sites and stores in other files. Strict: an unknown key is an error.
 * It checks single values; `consistency.ts` checks what concerns several. The descriptions go into the JSON Schema for
 * editors (`json-schema.ts`) and into `docs/configuration.md`.
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
      'Requests of each window that are always left to other clients. What they are seen to use is left to them in any ' +
        'case; with `auto`, only that.',
    ),
  arrival: duration({ min: '1s', max: '10m' })
    .prefault('30s')
    .describe(
      'The longest a request can take to arrive after the last check; a request without an answer counts until then.',
    ),
  spare: z
    .literal('verify', 'expected verify')
    .optional()
    .describe(
      'Use of spare requests, which would expire unused: `verify` re-reads what was verified least recently. Absent: none.',
    ),
});

const project = z.strictObject({
  id: id('a project id').describe("Identifier of the project in the service's addresses."),
  incremental: scheduleSchema.optional().describe('When to read new entries. Absent: only on demand.'),
  review: scheduleSchema.optional().describe('When to look for changes of status.'),
  sweep: scheduleSchema.optional().describe('When to read everything again. Absent: only on demand.'),
});

const webhook = z.strictObject({
  name: id('a name').default('default').describe('Name in workflows and in the UI, unique within the organization.'),
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
    .describe('Events to send. Absent: all.'),
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
      .describe('Receivers of messages about finished passes and exports; see webhooks.md.'),
    projects: z.array(project, 'expected a list of projects').default([]).describe('Projects whose feedback is read.'),
    sites: z.array(siteSchema, 'expected a list of sites').default([]).describe('Sites that are exported.'),
  })
  .refine(
    ({ apiKey, apiKeyFile }) => (apiKey === undefined) !== (apiKeyFile === undefined),
    'expected either apiKey or apiKeyFile',
  )
  .meta({ oneOf: [{ required: ['apiKey'] }, { required: ['apiKeyFile'] }] });

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
  handover: z
    .enum(handovers, `expected ${handovers.join(' or ')}`)
    .optional()
    .describe(
      'How soon another worker takes over from a dead one: `quick` within 10 s; `steady` within 60 s, which bears slow ' +
        'networks and busy machines. Absent: `quick` where Temporal is on this machine, else `steady`. The same for all ' +
        'workers and commands.',
    ),
});

const worker = z.strictObject({
  downloads: wholeNumber(1, 2_000)
    .default(200)
    .describe('Long steps a worker does at a time: downloads and what follows them.'),
  verifications: wholeNumber(1, 256)
    .optional()
    .describe('Archives a worker reads at a time to verify them. Absent: one for two processors, at least one.'),
  browsers: wholeNumber(1, 64)
    .optional()
    .describe('Browsers a worker opens at a time to render pages. Absent: one for four processors, at least one.'),
});

const service = z.strictObject({
  baseUrl: address().describe('Address of the documentation service; `https://`, or `http://` on this machine.'),
  analyticsBaseUrl: address().optional().describe('Address of the analytics area. Absent: `baseUrl`.'),
  linkHosts: z
    .array(linkHost(), 'expected a list of host names')
    .default([])
    .describe(
      'Hosts that links may lead to besides public addresses: private or loopback ones must be listed here. With a port (`127.0.0.1:8788`), only that one.',
    ),
  allowInsecure: z
    .boolean('expected true or false')
    .default(false)
    .describe('Permits `http://` for other machines and for links.'),
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
    worker: worker.prefault({}).describe('How much each worker does at a time; see operations.md.'),
    service: service.describe('The documentation service.'),
    organizations: z
      .array(organization, 'expected a list of organizations')
      .min(1, 'expected at least one organization')
      .describe('Organizations of the service, each with its key and its budget.'),
    store: storeSchema.prefault({}).describe('Where feedback and published versions are stored.'),
    privacy: privacy.prefault({}).describe('How personal data is treated.'),
  },
  'expected a mapping',
);

export type ConfigInput = z.output<typeof configSchema>;
