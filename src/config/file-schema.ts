import { z } from 'zod';
import { handovers } from '../temporal/rules/failover.ts';
import { consoleSchema } from './console-schema.ts';
import { address, duration, linkHost, text, wholeNumber } from './field-schemas.ts';
import { gatewaySchema } from './gateway-schema.ts';
import { organizationDefaultsSchema, organizationSchema, projectDefaultsSchema } from './organization-schema.ts';
import { siteDefaultsSchema, siteEntrySchema, siteSchema } from './site-schema.ts';
import { storeSchema } from './store-schema.ts';

/*
 * The schema of `docferry.yaml` (contracts.md), with organizations, sites and stores in other files. Strict: an unknown key is an error.
 * It checks single values; `consistency.ts` checks what concerns several. The descriptions go into the JSON Schema for
 * editors (`json-schema.ts`) and into `docs/configuration.md`.
 */

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
      'How soon another worker takes over from a dead one: `quick` within 10 s; `steady` within 60 s, which tolerates slow ' +
        'networks and busy machines. Absent: `quick` if Temporal is on this machine, else `steady`. Set the same for all ' +
        'workers and commands.',
    ),
});

const worker = z.strictObject({
  downloads: wholeNumber(1, 2_000)
    .default(200)
    .describe('Long steps a worker runs at a time: downloads and what follows them.'),
  verifications: wholeNumber(1, 256)
    .optional()
    .describe('Archives a worker reads at a time to verify them. Absent: one per two processors, at least one.'),
  browsers: wholeNumber(1, 64)
    .optional()
    .describe('Browsers a worker opens at a time to render pages. Absent: one per four processors, at least one.'),
});

const service = z.strictObject({
  baseUrl: address().describe('Address of the documentation service; `https://`, or `http://` on this machine.'),
  analyticsBaseUrl: address().optional().describe('Address of the analytics area. Absent: `baseUrl`.'),
  linkHosts: z
    .array(linkHost(), 'expected a list of host names')
    .default([])
    .describe(
      'Hosts that links may lead to besides public addresses: private or loopback ones must be listed here. With a port (`127.0.0.1:8788`), only that port.',
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

const defaults = z.strictObject({
  organizations: organizationDefaultsSchema
    .optional()
    .meta({ title: 'budget, webhooks, watchEvery' })
    .describe('For each organization: its `budget`, `webhooks` and `watchEvery`.'),
  projects: projectDefaultsSchema
    .optional()
    .meta({ title: 'fields of a project' })
    .describe('For each project: its `incremental`, `review`, `sweep` and `freshness`.'),
  sites: siteDefaultsSchema
    .optional()
    .meta({ title: 'fields of a site' })
    .describe('For each site: every field but `domain` and `domains`.'),
});

function schemaWith<Site extends z.ZodType>(site: Site) {
  return z.strictObject(
    {
      temporal: temporal.prefault({}).describe('The Temporal that runs everything.'),
      worker: worker.prefault({}).describe('How much a worker does at a time; see operations.md.'),
      service: service.describe('The documentation service.'),
      defaults: defaults
        .optional()
        .describe(
          'Settings for every organization, project and site that does not set its own. A mapping of its own is merged ' +
            'with the default field by field; a list and a schedule of its own replace it; `null` takes the default away.',
        ),
      organizations: z
        .array(organizationSchema(site), 'expected a list of organizations')
        .min(1, 'expected at least one organization')
        .describe('Organizations of the service, each with its key and its budget.'),
      store: storeSchema.prefault({}).describe('Where feedback and published versions are stored.'),
      privacy: privacy.prefault({}).describe('How personal data is treated.'),
      gateway: gatewaySchema.prefault({}).describe('What `docferry gateway` serves to other programs; see gateway.md.'),
      console: consoleSchema.prefault({}).describe('Who may use `docferry console`, and for what; see console.md.'),
    },
    'expected a mapping',
  );
}

/** The file as it is written. */
export const fileSchema = schemaWith(siteEntrySchema);

/** The file once every entry holds its defaults, with one domain in each entry of `sites` (`shorthand/expand.ts`). */
export const configSchema = schemaWith(siteSchema);

export type ConfigInput = z.output<typeof configSchema>;
