import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { permitClasses } from '../budget/rules/permits.ts';
import { isReservedName } from '../runs/rules/audit.ts';
import { failovers } from '../temporal/rules/failover.ts';
import { address, duration, id, linkHost, text, wholeNumber } from './field-schemas.ts';
import {
  organizationDefaultsSchema,
  organizationSchema,
  projectDefaultsSchema,
  siteDefaultsSchema,
  siteEntrySchema,
  siteSchema,
} from './organization-schema.ts';
import { parsePostgresAddress } from './postgres-address.ts';

const people = (role: string) =>
  z
    .strictObject(
      {
        groups: z.array(text('a group'), 'expected a list of groups').default([]),
        logins: z
          .array(
            text('a login').refine(
              (login) => !isReservedName(login),
              'expected a login; this name is not let in as one',
            ),
            'expected a list of logins',
          )
          .default([]),
      },
      { error: ({ input }) => (Array.isArray(input) ? inOneList(role, input) : undefined) },
    )
    .meta({ title: 'lists `groups` and `logins`' });

/** Names of both kinds once stood in one list. Most logins are addresses; which of the others are none is not known here. */
function inOneList(role: string, names: readonly unknown[]): string {
  const isLogin = (name: unknown) => String(name).includes('@');
  const [groups, logins] = [names.filter((name) => !isLogin(name)), names.filter(isLogin)];
  const people = [
    ...(groups.length === 0 ? [] : [`groups: ${JSON.stringify(groups)}`]),
    ...(logins.length === 0 ? [] : [`logins: ${JSON.stringify(logins)}`]),
  ];
  return `groups and logins are kept apart now: write ${role}: { ${people.join(', ')} }, and move what is of the other kind`;
}

/** An IP address, or a range of them. */
function addressRange() {
  return z
    .string()
    .refine(
      (text) => (text.includes('/') ? ipaddr.isValidCIDR(text) : ipaddr.isValid(text)),
      'expected an address or a range such as 10.0.0.0/8',
    )
    .meta({ title: 'address or range' });
}

const proxy = z.strictObject({
  from: z
    .array(addressRange(), 'expected a list of addresses')
    .min(1, 'expected at least one address')
    .describe('Addresses and ranges of the proxy. The headers of others are ignored.'),
  user: text('the name of a header').default('x-forwarded-user').describe('Header with the login.'),
  groups: text('the name of a header')
    .default('x-forwarded-groups')
    .describe('Header with the groups, separated by commas.'),
});

const oidc = z.strictObject({
  issuer: address().describe('Address of the provider; `https://`, or `http://` on this machine.'),
  clientId: text('the id of a client').describe('Id of the console at the provider.'),
  clientSecret: text(`\${NAME} of an environment variable`)
    .meta({ title: 'text' })
    .describe('Secret of the console at the provider, best by reference to an environment variable.'),
  groups: text('the name of a claim').default('groups').describe('Claim with the groups.'),
});

/** Who may use `docferry console`, and for what. */
export const consoleSchema = z.strictObject({
  write: z
    .boolean('expected true or false')
    .default(false)
    .describe('Whether operators may act: start, approve, hold and so on. Otherwise everybody may only look.'),
  idle: duration({ min: '1m', max: '30d' })
    .prefault('8h')
    .describe('A session ends after this long without a request.'),
  lifetime: duration({ min: '1m', max: '90d' })
    .prefault('24h')
    .describe('A session ends this long after it began, used or not; at least `idle`.'),
  url: address()
    .refine(
      (text) => !URL.canParse(text) || new URL(text).pathname === '/',
      'expected an address without a path: the console needs a separate host name, such as https://docferry.acme.example',
    )
    .optional()
    .describe('Address at which browsers reach the console through a proxy. Absent: the address it listens on.'),
  temporalUi: address().optional().describe('Address of the Temporal UI, for links.'),
  proxy: proxy.optional().describe('A reverse proxy that signs people in and says who they are.'),
  oidc: oidc.optional().describe('An OpenID provider that signs people in.'),
  viewers: people('viewers').optional().describe('Who may look. Absent: everybody who is signed in.'),
  operators: people('operators')
    .prefault({})
    .describe('Who may act, with `write`. A person with the link from the terminal always may.'),
  contacts: people('contacts')
    .prefault({})
    .describe(
      'Who may see contacts and the fields the interface does not name. A person with the link from the terminal always may.',
    ),
});

/** Without `verify`, whose requests are spare ones. */
const classes = permitClasses.filter((name) => name !== 'verify');

const client = z.strictObject({
  name: id('a name').describe('Name of the program, unique; the budget shows it as `gateway:<name>`.'),
  token: text(`\${NAME} of an environment variable`)
    .meta({ title: 'text' })
    .describe('What the program sends as `Authorization: Bearer …`, at least 16 characters.'),
  org: id('an organization id').describe('Organization whose requests it uses.'),
  class: z
    .enum(classes, `expected ${classes.join(', ')}`)
    .default('on-demand')
    .describe('Priority of its requests among those of the organization (budget.md).'),
  share: wholeNumber(1, 100)
    .optional()
    .describe("The largest part of a window's limit that it may hold, in per cent. Absent: no limit of its own."),
});

/** What `docferry gateway` serves. */
export const gatewaySchema = z.strictObject({
  clients: z.array(client, 'expected a list of clients').default([]).describe('Programs that may use it.'),
});

export type GatewayInput = z.output<typeof gatewaySchema>;

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
          .describe('Name of the bucket, which must exist.'),
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
          .describe("Address of the object store; the bucket's name is then part of the path. Absent: AWS."),
        region: text('the name of a region')
          .optional()
          .describe("Region of the bucket. Absent: by AWS's own variables and profiles."),
        workFolder: text('the path of a folder')
          .default('./data/bundles-work')
          .describe('Folder of each machine for downloads on their way to the bucket, and archives to unpack.'),
      })
      .optional()
      .describe("A bucket instead of a folder. Credentials come from AWS's own variables, profiles and roles."),
    publicUrl: address()
      .default('http://localhost:8090')
      .describe('Address under which deployments reach the published versions.'),
    signing: z
      .strictObject({
        keyFile: text('the path of a file').describe('Secret key, as `minisign -G` writes it.'),
        password: text(`\${NAME} of an environment variable`)
          .meta({ title: 'text' })
          .optional()
          .describe('Password of the key, by reference to an environment variable. Absent: a key made with `-W`.'),
        formerKeys: z
          .array(z.string().regex(/^RW[A-Za-z0-9+/]{54}$/, 'expected the second line of a .pub file, like RWQf6LRC…'))
          .max(20)
          .default([])
          .describe(
            'Former public keys whose signatures docferry still accepts: the second line of their `.pub` files.',
          ),
      })
      .optional()
      .describe('Signs the manifest of each version that is published, as minisign does; see verification.md.'),
    server: z
      .strictObject({
        token: text(`\${NAME} of an environment variable`)
          .meta({ title: 'text' })
          .optional()
          .describe('Bearer token that readers must send, by reference to an environment variable. Absent: none.'),
        readers: wholeNumber(1, 100_000)
          .default(256)
          .describe('Requests answered at the same time; the others get 503.'),
        readersPerAddress: wholeNumber(1, 100_000)
          .default(64)
          .describe('The same for one client address; behind a proxy or NAT all readers share one.'),
        idle: duration({ min: '1s', max: '10m' })
          .prefault('30s')
          .describe('A reader that takes less than 64 KiB in this time is disconnected.'),
      })
      .prefault({})
      .describe('The bundle server of `serve` and `up`.'),
  })
  .refine(({ directory, s3 }) => directory === undefined || s3 === undefined, 'expected either directory or s3')
  .meta({ not: { required: ['directory', 's3'] } });

/** Where feedback and published versions are kept (contracts.md `store`). */
export const storeSchema = z.strictObject({
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
  keep: wholeNumber(1, 100_000).default(10).describe('How many versions of each site docferry keeps.'),
});

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
  failover: z
    .enum(failovers, `expected ${failovers.join(' or ')}`)
    .optional()
    .describe(
      'How soon another worker takes over from a dead one: `fast` within 10 s; `tolerant` within 60 s, which tolerates slow ' +
        'networks and busy machines. Absent: `fast` if Temporal is on this machine, else `tolerant`. Set the same for all ' +
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
