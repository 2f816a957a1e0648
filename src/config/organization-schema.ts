import { z } from 'zod';
import { mostRequests } from '../budget/rules/permits.ts';
import { webhookEventTypes, webhookFormats } from '../runs/rules/webhook-event.ts';
import { duration, id, name, text, wholeNumber } from './field-schemas.ts';
import { scheduleSchema } from './schedule-schema.ts';

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
