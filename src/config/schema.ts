import { z } from 'zod';
import { address, domain, duration, id, isHostName, size, text, wholeNumber } from './field-schemas.ts';
import { scheduleSchema } from './schedule-schema.ts';

/*
 * All of `docferry.yaml` (DESIGN §5), also what a later version brings (`availability.ts`). Strict: an unknown key is
 * an error. Only shapes and single values are checked here; what concerns several fields is in `consistency.ts`.
 */

const budget = z.strictObject({
  requests: wholeNumber(1, 1_000_000).default(100),
  window: duration({ min: '100ms', max: '31d' }).prefault('1h'),
  reserve: z
    .union([z.literal('auto'), wholeNumber(0, 1_000_000)], 'expected a whole number from 0, or auto')
    .default(0),
  arrival: duration({ min: '1s', max: '10m' }).prefault('30s'),
  spare: z.literal('verify', 'expected verify').optional(),
});

const project = z.strictObject({
  id: id('a project id'),
  incremental: scheduleSchema.optional(),
  review: scheduleSchema.optional(),
  sweep: scheduleSchema.optional(),
});

const rollout = z
  .strictObject({
    directory: z.strictObject({ path: text('the path of a folder') }).optional(),
    helmValues: z.strictObject({ file: text('the path of a values file') }).optional(),
  })
  .refine((target) => Object.keys(target).length === 1, 'expected one kind of target: directory');

const site = z.strictObject({
  domain: domain(),
  schedule: scheduleSchema.optional(),
  job: z
    .strictObject({
      timeout: duration({ min: '1s', max: '31d' }).prefault('2h'),
      attempts: wholeNumber(1, 100).default(3),
    })
    .prefault({}),
  bundle: z
    .strictObject({
      maxBytes: size().prefault('5GiB'),
      maxFiles: wholeNumber(1, 10_000_000).default(200_000),
      connections: wholeNumber(1, 64).default(1),
    })
    .prefault({}),
  approval: z.enum(['none', 'manual'], 'expected none or manual').default('none'),
  rollout: z.array(rollout, 'expected a list of targets').default([]),
});

const organization = z
  .strictObject({
    id: id('an organization id'),
    apiKey: text(`\${NAME} of an environment variable`).optional(),
    apiKeyFile: text('the path of a file').optional(),
    budget: budget.prefault({}),
    projects: z.array(project, 'expected a list of projects').default([]),
    sites: z.array(site, 'expected a list of sites').default([]),
  })
  .refine(
    ({ apiKey, apiKeyFile }) => (apiKey === undefined) !== (apiKeyFile === undefined),
    'expected either apiKey or apiKeyFile',
  );

const bundles = z
  .strictObject({
    directory: text('the path of a folder').optional(),
    s3: z
      .strictObject({
        bucket: text('the name of a bucket'),
        prefix: z.string().optional(),
        endpoint: address().optional(),
        region: z.string().optional(),
      })
      .optional(),
    publicUrl: address().default('http://localhost:8090'),
  })
  .refine(({ directory, s3 }) => directory === undefined || s3 === undefined, 'expected either directory or s3');

const handling = z.enum(['keep', 'hash', 'drop'], 'expected keep, hash or drop').default('keep');

export const configSchema = z.strictObject(
  {
    temporal: z
      .strictObject({
        address: text('host:port').optional(),
        namespace: text('the name of a namespace').optional(),
        taskQueue: text('the name of a task queue').default('docferry'),
        profile: text('the name of a profile').optional(),
      })
      .prefault({}),
    service: z.strictObject({
      baseUrl: address(),
      analyticsBaseUrl: address().optional(),
      linkHosts: z
        .array(
          z.string().refine(isHostName, 'expected a bare host name in lower case'),
          'expected a list of host names',
        )
        .default([]),
      allowInsecure: z.boolean('expected true or false').default(false),
    }),
    organizations: z
      .array(organization, 'expected a list of organizations')
      .min(1, 'expected at least one organization'),
    store: z
      .strictObject({
        feedback: z
          .string()
          .regex(/^(sqlite:.+|postgres(ql)?:\/\/.+)$/, 'expected sqlite:FILE')
          .default('sqlite:./data/feedback.db'),
        bundles: bundles.prefault({}),
        keep: wholeNumber(1, 100_000).default(10),
      })
      .prefault({}),
    privacy: z.strictObject({ contacts: handling, comments: handling, hashKey: text('a key').optional() }).prefault({}),
  },
  'expected a mapping',
);

export type ConfigInput = z.output<typeof configSchema>;
