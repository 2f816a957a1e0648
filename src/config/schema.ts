import path from 'node:path';
import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { permitClasses } from '../budget/rules/permits.ts';
import { isSecure } from '../rules/proxy.ts';
import { withoutEnd } from '../rules/text.ts';
import { isReservedName } from '../runs/rules/audit.ts';
import { failovers } from '../temporal/rules/failover.ts';
import {
  absolute,
  address,
  baseAddress,
  bucketFields,
  duration,
  filePath,
  flag,
  InPlace,
  id,
  linkHost,
  listOf,
  orNull,
  secret,
  text,
  wholeNumber,
} from './field-schemas.ts';
import {
  organizationDefaultsSchema,
  organizationSchema,
  projectDefaultsSchema,
  siteDefaultsSchema,
  siteEntrySchema,
  siteSchema,
} from './organization-schema.ts';
import { type FeedbackStoreConfig, hashKeyCheck, parsePostgresAddress, postgresStore, tokenCheck } from './secrets.ts';

const people = z
  .strictObject(
    {
      groups: listOf(text('a group'), 'groups').default([]).describe('Names of groups.'),
      logins: listOf(
        text('a login').refine((login) => !isReservedName(login), 'expected a login; this name is not let in as one'),
        'logins',
      )
        .default([])
        .describe('Logins of single people.'),
    },
    {
      error: ({ input }) =>
        Array.isArray(input)
          ? 'expected two lists, such as { groups: [docs-leads], logins: [ada@acme.example] }'
          : undefined,
    },
  )
  .meta({ title: 'lists `groups` and `logins`' });

function addressRange() {
  return z
    .string()
    .refine(
      (text) => (text.includes('/') ? ipaddr.isValidCIDR(text) : ipaddr.isValid(text)),
      'expected an address or a range such as 10.0.0.0/8',
    )
    .meta({ title: 'address or range' });
}

const header = () => text('the name of a header').transform((name) => name.toLowerCase());

const proxy = z.strictObject({
  from: listOf(addressRange(), 'addresses')
    .min(1, 'expected at least one address')
    .describe('Addresses and ranges of the proxy. The headers of others are ignored.'),
  user: header().prefault('x-forwarded-user').describe('Header with the login.'),
  groups: header().prefault('x-forwarded-groups').describe('Header with the groups, separated by commas.'),
});

const oidc = z.strictObject({
  issuer: address()
    .refine(
      (issuer) => !URL.canParse(issuer) || isSecure(new URL(issuer)),
      'expected https://: this address decides who may sign in',
    )
    .describe('Address of the provider; `https://`, or `http://` on this machine.'),
  clientId: text('the id of a client').describe('Id of the console at the provider.'),
  clientSecret: secret('client secret').describe(
    'Secret of the console at the provider, best by reference to an environment variable.',
  ),
  groups: text('the name of a claim').default('groups').describe('Claim with the groups.'),
});

/** Host and port of an address; empty for none. */
const hostOf = (url: string | null): string => (url !== null && URL.canParse(url) ? new URL(url).host : '');

/** Who may use `docferry console`, and for what. */
const consoleSchema = z
  .strictObject({
    write: flag()
      .default(false)
      .describe('Whether operators may act: start, approve, hold and so on. Otherwise everybody may only look.'),
    idle: duration({ min: '1m', max: '30d' })
      .prefault('8h')
      .describe('A session ends after this long without a request.'),
    lifetime: duration({ min: '1m', max: '90d' })
      .prefault('24h')
      .describe('A session ends this long after it began, used or not; at least `idle`.'),
    url: orNull(
      baseAddress().refine(
        (text) => !URL.canParse(text) || new URL(text).pathname === '/',
        'expected an address without a path: the console needs a separate host name, such as https://docferry.acme.example',
      ),
    ).describe('Address at which browsers reach the console through a proxy. Absent: the address it listens on.'),
    previewUrl: orNull(
      z
        .string('expected an address')
        .regex(
          /^(https?:\/\/\*\.[a-z0-9-]+(\.[a-z0-9-]+)*(:\d+)?|http:\/\/([a-z0-9.-]+|\[[0-9a-f:]+\]):\d+)\/?$/,
          'expected https://*.preview.example, all of whose names lead to the console, or http://10.1.2.3:8089 with a port for it to listen on',
        )
        .transform((url) => withoutEnd(url, '/'))
        .meta({ title: 'address' }),
    ).describe(
      'Where browsers see a version before it is in service: `*` stands for a name of its own for each. Without `*` the console listens there and shows one version at a time. Absent: names below `localhost`, where the console runs on the same machine.',
    ),
    temporalUi: orNull(baseAddress()).describe('Address of the Temporal UI, for links.'),
    proxy: orNull(proxy).describe('A reverse proxy that signs people in and says who they are.'),
    oidc: orNull(oidc).describe('An OpenID provider that signs people in.'),
    viewers: orNull(people).describe('Who may look. Absent: everybody who is signed in.'),
    operators: people
      .prefault({})
      .describe('Who may act, with `write`. A person with the link from the terminal always may.'),
    contacts: people
      .prefault({})
      .describe(
        'Who may see contacts and the fields the interface does not name. A person with the link from the terminal always may.',
      ),
  })
  .superRefine(({ idle, lifetime, url, previewUrl }, context) => {
    const refuse = (field: string, message: string) => context.addIssue({ code: 'custom', path: [field], message });
    if (idle > lifetime) {
      refuse('idle', 'expected at most console.lifetime (24h unless set), when the session ends anyway');
    }
    const [own, names] = [hostOf(url), hostOf(previewUrl)];
    if (names.startsWith('*.') && own.endsWith(names.slice(1))) {
      refuse('previewUrl', "expected names that the console's own is none of, such as https://*.preview.example");
    }
  })
  .transform(({ idle, lifetime, ...console }) => ({ ...console, idleMs: idle, lifetimeMs: lifetime }));

const client = z.strictObject({
  name: id('a name').describe('Name of the program, unique; the budget shows it as `gateway:<name>`.'),
  token: secret('token', () => tokenCheck).describe(
    'What the program sends as `Authorization: Bearer …`, at least 16 characters.',
  ),
  org: id('an organization id').describe('Organization whose requests it uses.'),
  class: z
    .enum(permitClasses, `expected ${permitClasses.join(' or ')}`)
    .default('on-demand')
    .describe('Priority of its requests among those of the organization (budget.md).'),
  share: orNull(wholeNumber(1, 100)).describe(
    "The largest part of a window's limit that it may hold, in per cent. Absent: no limit of its own.",
  ),
});

/** What `docferry gateway` serves. */
const gatewaySchema = z.strictObject({
  clients: listOf(client, 'clients').prefault([]).describe('Programs that may use it.'),
});

const publicKey = z
  .string()
  .regex(/^RW[Q-T][A-Za-z0-9+/]{53}$/, 'expected the second line of a .pub file, like RWQf6LRC…');

const bundles = z
  .strictObject({
    directory: filePath('the path of a folder')
      .optional()
      .describe('Folder that holds the published versions. Absent: `./data/bundles`.'),
    s3: z
      .strictObject({
        ...bucketFields,
        workFolder: filePath('the path of a folder')
          .prefault('./data/bundles-work')
          .describe('Folder of each machine for downloads on their way to the bucket, and archives to unpack.'),
      })
      .optional()
      .describe("A bucket instead of a folder. Credentials come from AWS's own variables, profiles and roles."),
    publicUrl: address()
      // As programs will ask for it: published addresses are copied from here.
      .transform((url) => withoutEnd(new URL(url).href, '/'))
      .prefault('http://localhost:8090')
      .describe('Address under which deployments reach the published versions.'),
    signing: orNull(
      z.strictObject({
        keyFile: filePath('the path of a file').describe('Secret key, as `minisign -G` writes it.'),
        password: orNull(secret('password')).describe(
          'Password of the key, by reference to an environment variable. Absent: a key made with `-W`.',
        ),
        publicKey: orNull(publicKey).describe(
          'Public key of `keyFile`, the second line of its `.pub` file: processes that only read versions verify them by it, and need no secret key. Absent: they read `keyFile`.',
        ),
        formerKeys: z
          .array(publicKey)
          .max(20)
          .default([])
          .describe(
            'Former public keys whose signatures docferry still accepts: the second line of their `.pub` files.',
          ),
      }),
    ).describe('Signs the manifest of each version that is published, as minisign does; see verification.md.'),
    server: z
      .strictObject({
        token: orNull(secret('token')).describe(
          'Bearer token that readers must send, by reference to an environment variable. Absent: none.',
        ),
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
      .transform(({ idle, ...server }) => ({ ...server, idleMs: idle }))
      .prefault({})
      .describe('The bundle server of `serve` and `up`.'),
  })
  .refine(({ directory, s3 }) => directory === undefined || s3 === undefined, 'expected either directory or s3')
  .meta({ not: { required: ['directory', 's3'] } })
  .transform(({ directory = absolute('./data/bundles'), s3, ...published }) =>
    s3 ? { kind: 's3' as const, ...s3, ...published } : { kind: 'directory' as const, directory, ...published },
  );

/** Where feedback and published versions are kept (contracts.md `store`). */
const storeSchema = z
  .strictObject({
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
  })
  .transform((store) => ({ ...store, feedback: feedbackStore(store.feedback, store.bundles) }));

type BundleStore = z.output<typeof bundles>;

function feedbackStore(text: string, bundles: BundleStore): InPlace<FeedbackStoreConfig> {
  return new InPlace((place) => {
    if (!text.startsWith('sqlite:')) return postgresStore(text, place);
    const file = path.resolve(place.directory, text.replace(/^sqlite:/, ''));
    const sharedFolder = bundles.kind === 'directory' && holds(path.dirname(file), bundles.directory.at(place));
    return { kind: 'sqlite', file, place: file, sharedFolder };
  });
}

/** Whether `inner` is the folder or anywhere below it. */
function holds(folder: string, inner: string): boolean {
  const way = path.relative(folder, inner);
  return way !== '..' && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way);
}

const handling = z.enum(['keep', 'hash', 'drop'], 'expected keep, hash or drop').default('keep');

const temporal = z
  .strictObject({
    address: text('host:port')
      .optional()
      .describe("`host:port` of Temporal. Absent: by Temporal's own variables and profiles, else `localhost:7233`."),
    namespace: text('the name of a namespace')
      .optional()
      .describe("Namespace. Absent: by Temporal's own variables and profiles, else `default`."),
    taskQueue: text('the name of a task queue').default('docferry').describe('Task queue of the workers.'),
    profile: orNull(text('the name of a profile')).describe("Profile of Temporal's own configuration file."),
    failover: z
      .enum(failovers, `expected ${failovers.join(' or ')}`)
      .exactOptional()
      .describe(
        'How soon another worker takes over from a dead one: `fast` within 10 s; `tolerant` within 60 s, which tolerates slow ' +
          'networks and busy machines. Absent: `fast` if Temporal is on this machine, else `tolerant`. Set the same for all ' +
          'workers and commands.',
      ),
    encryption: orNull(
      z.strictObject({
        keys: listOf(
          z.strictObject({
            id: id('a key id').describe('Name of the key, stored in clear text beside the data it encrypts.'),
            keyFile: filePath('the path of a file').describe('File with the key, as `openssl rand -hex 32` writes it.'),
          }),
          'keys',
        )
          .min(1, 'expected at least one key')
          .max(20, 'expected at most 20 keys')
          .superRefine((keys, context) => {
            for (const [index, { id }] of keys.entries()) {
              if (keys.findIndex((key) => key.id === id) === index) continue;
              context.addIssue({ code: 'custom', path: [index, 'id'], message: 'this key is listed twice' });
            }
          })
          .describe('The first key encrypts, all of them decrypt.'),
      }),
    ).describe(
      'Encrypts what Temporal stores of workflows (AES-256-GCM); see privacy.md. Give the same keys to all workers and commands.',
    ),
    codec: orNull(filePath('the path of a module')).describe(
      "A JavaScript module that encodes payloads instead: its default export is a `PayloadCodec` of Temporal's SDK.",
    ),
    codecToken: orNull(secret('token', () => tokenCheck)).describe(
      'Token that `docferry codec-server` wants, by reference to an environment variable. Absent: another one at each start.',
    ),
  })
  .refine(({ encryption, codec }) => encryption === null || codec === null, 'expected either encryption or codec')
  .meta({ not: { required: ['encryption', 'codec'] } })
  .transform(({ address, namespace, ...temporal }) => ({
    ...temporal,
    address: address ?? 'localhost:7233',
    namespace: namespace ?? 'default',
    /** Whether the file names address and namespace: otherwise Temporal's own variables and profiles do. */
    given: { address: address !== undefined, namespace: namespace !== undefined },
  }));

const worker = z.strictObject({
  downloads: wholeNumber(1, 2_000)
    .default(200)
    .describe('Long steps a worker runs at a time: downloads and what follows them.'),
  verifications: orNull(wholeNumber(1, 256)).describe(
    'Archives a worker reads at a time to verify them. Absent: one per two processors, at least one.',
  ),
  browsers: orNull(wholeNumber(1, 64)).describe(
    'Browsers a worker opens at a time to render pages. Absent: one per four processors, at least one.',
  ),
});

export const insecureAddress = 'expected https:// (service.allowInsecure: true permits http://)';

const service = z
  .strictObject({
    baseUrl: baseAddress().describe('Address of the documentation service; `https://`, or `http://` on this machine.'),
    analyticsBaseUrl: baseAddress().optional().describe('Address of the analytics area. Absent: `baseUrl`.'),
    linkHosts: listOf(linkHost(), 'host names')
      .default([])
      .describe(
        'Hosts that links may lead to besides public addresses: private or loopback ones must be listed here. With a port (`127.0.0.1:8788`), only that port.',
      ),
    allowInsecure: flag().default(false).describe('Permits `http://` for other machines and for links.'),
  })
  .superRefine(({ allowInsecure, ...addresses }, context) => {
    for (const field of ['baseUrl', 'analyticsBaseUrl'] as const) {
      const url = addresses[field];
      if (url === undefined || allowInsecure || isSecure(new URL(url))) continue;
      context.addIssue({ code: 'custom', path: [field], message: insecureAddress });
    }
  })
  .transform((service) => ({ ...service, analyticsBaseUrl: service.analyticsBaseUrl ?? service.baseUrl }));

const privacy = z
  .strictObject({
    contacts: handling.describe('What to do with the e-mail addresses people left.'),
    comments: handling.describe('What to do with what people wrote: comments and code.'),
    hashKey: orNull(secret('hash key', () => hashKeyCheck)).describe(
      'Key of `hash`, at least 32 characters, best by reference to an environment variable.',
    ),
    keepFields: listOf(text('the name of a field'), 'names')
      .default([])
      .describe('With `hash` or `drop`: fields unknown to the interface that are kept, such as `locale`.'),
    retention: orNull(duration({ min: '1d', max: '36500d' })).describe(
      'Age at which an entry loses contact, comment, code and unknown fields. Absent: never.',
    ),
  })
  .superRefine(({ contacts, comments, hashKey, keepFields }, context) => {
    const refuse = (wrong: boolean, message: string, ...path: (string | number)[]) => {
      if (wrong) context.addIssue({ code: 'custom', path, message });
    };
    const hashed = contacts === 'hash' ? 'contacts' : comments === 'hash' ? 'comments' : null;
    refuse(hashed !== null && hashKey === null, `expected a key, because privacy.${hashed} is hash`, 'hashKey');
    refuse(hashed === null && hashKey !== null, 'goes with contacts: hash or comments: hash', 'hashKey');
    if (contacts === 'keep' && comments === 'keep') {
      const message = 'works only with hash or drop: with keep, all fields are kept';
      refuse(keepFields.length > 0, message, 'keepFields');
      return;
    }
    for (const [index, name] of keepFields.entries()) {
      const message = 'expected the name of a field that is not in the interface';
      refuse(interfaceFields.has(name), message, 'keepFields', index);
    }
  })
  .transform(({ retention, ...privacy }) => ({ ...privacy, retentionMs: retention }));

/** The fields of an entry in service-interface.md. */
const interfaceFields = new Set(
  'id path comment createdAt source status helpful contact code filename lang'.split(' '),
);

const defaults = z.strictObject({
  organizations: organizationDefaultsSchema
    .optional()
    .meta({ title: 'budget, refresh, webhooks, watchEvery' })
    .describe('For each organization: its `budget`, `refresh`, `webhooks` and `watchEvery`.'),
  projects: projectDefaultsSchema
    .optional()
    .meta({ title: 'fields of a project' })
    .describe('For each project: its `atMost`, `weight` and `freshness`.'),
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
      organizations: listOf(organizationSchema(site), 'organizations')
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

/** The file once every entry holds its defaults, with one domain in each entry of `sites` (`expand.ts`). */
export const configSchema = schemaWith(siteSchema);
