import { z } from 'zod';
import { parsePostgresAddress } from './postgres-address.ts';
import { address, duration, text, wholeNumber } from './field-schemas.ts';

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
