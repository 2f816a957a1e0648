import { posix } from 'node:path';
import { z } from 'zod';
import { withoutEnd } from '../rules/text.ts';
import { absolute, address, bucketFields, duration, InPlace, type Placed, secret, text } from './field-schemas.ts';
import type { SecretSource } from './secrets.ts';

/** Where a version goes, by kind. `placeIn` names its targets, exports/rollout/roll-out-version.ts makes the place. */
const placeFields = {
  directory: z
    .strictObject({
      path: text('the path of a folder').describe(
        'Folder that gets `releases/<version>/` and the symlink `current`; with `git` the folder of the repository that ' +
          'gets the files of the site.',
      ),
    })
    .describe('Unpack the site on this machine and switch a symlink to it.'),
  helmValues: z
    .strictObject({
      file: text('the path of a values file').describe(
        'YAML file whose mapping `key` gets address and version; the rest stays as it is. With `git`, a file of the repository.',
      ),
      key: z
        .string('expected keys with dots between them')
        .regex(/^[^.\s]+(\.[^.\s]+)*$/, 'expected keys with dots between them, e.g. spec.values.staticExport')
        .meta({ title: 'text' })
        .default('staticExport')
        .describe('The mapping with `enabled`, `bundleUrl` and `version`, as keys with dots between them.'),
    })
    .describe("Write the published address and version into a chart's values."),
  bucket: z
    .strictObject(bucketFields)
    .describe('Write the files of the site into a bucket, from which a web server or a CDN serves them.'),
};
type PlaceKind = keyof typeof placeFields;
const kinds = Object.keys(placeFields) as PlaceKind[];
const anyKind = new Intl.ListFormat('en', { type: 'disjunction' }).format(kinds).replace(', or ', ' or ');

/** Addresses as git understands them; options and other programs are not among them. */
const remotePattern = /^((ssh|https?|git|file):\/\/|[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:|\/)[^\s]+$/;

/** A user name goes with ssh alone, where the key is the secret. */
function holdsCredentials(remote: string): boolean {
  const [, scheme = '', authority = ''] = /^([a-z]+):\/\/([^/]*)/.exec(remote) ?? [];
  const user = authority.includes('@') ? authority.slice(0, authority.lastIndexOf('@')) : '';
  return user.includes(':') || (user !== '' && scheme.startsWith('http'));
}

const git = z
  .strictObject({
    repository: z
      .string('expected the address of a repository')
      .regex(remotePattern, 'expected the address of a repository such as ssh://git@git.acme.example/deployments.git')
      .refine((remote) => !holdsCredentials(remote), {
        error: 'holds credentials: remove them, and give the worker an ssh key or a credential helper of git',
        abort: true,
      })
      .meta({ title: 'address of a repository' })
      .describe('Repository whose files change, as `git clone` takes it, without credentials.'),
    branch: z
      .string('expected the name of a branch')
      .regex(/^(?!.*(\.\.|\/\/|@\{|\.lock$))[A-Za-z0-9_][A-Za-z0-9._/-]{0,199}$/, 'expected the name of a branch')
      .meta({ title: 'text' })
      .default('main')
      .describe('Branch that gets the commits. It is never forced.'),
  })
  .describe('The place is in a git repository: fetch, edit, commit, push. Goes with `directory` and `helmValues`.');

const headerName = z.string().regex(/^[A-Za-z0-9-]{1,64}$/, 'expected the name of a header');

const check = z
  .strictObject({
    url: address().describe('Address at which readers get the site.'),
    within: duration({ min: '1s', max: '12h' })
      .prefault('15m')
      .describe(
        'Within this time, three rounds in a row must show the version; else it is returned to the one before.',
      ),
    headers: z
      .record(headerName, secret('header'), 'expected a mapping of headers')
      .optional()
      .meta({ title: 'mapping of headers' })
      .describe('Headers of the requests, by reference to environment variables: a token for a protected site.'),
    expect: z
      .enum(['content', 'status'], 'expected content or status')
      .default('content')
      .describe('`status` where the pages cannot be compared: docferry looks only for answers with status 200.'),
  })
  .transform(({ within, headers = {}, ...rest }) => ({ ...rest, headers, withinMs: within }))
  .describe('Fetches pages as readers do, and compares them with what was published.');

const run = z
  .array(z.string('expected text').min(1, 'expected text'), 'expected a program and its arguments as a list')
  .min(1, 'expected a program and its arguments as a list');

export const rolloutSchema = z
  .strictObject({
    ...z.object(placeFields).partial().shape,
    git: git.optional(),
    run: run
      .optional()
      .describe(
        'Program to run once the place has the version, without a shell. `{version}`, `{url}`, `{digest}` and `{site}`, the ' +
          'unpacked site, are replaced in its arguments.',
      ),
    runTimeout: duration({ min: '1s', max: '12h' })
      .optional()
      .describe('A program that takes longer is ended. Absent: `15m`.'),
    check: check.optional(),
  })
  .meta({
    minProperties: 1,
    not: {
      anyOf: [
        ...kinds.flatMap((kind, n) => kinds.slice(n + 1).map((other) => ({ required: [kind, other] }))),
        { required: ['git', 'bucket'] },
      ],
    },
    dependentRequired: { runTimeout: ['run'] },
  })
  .superRefine((target, context) => {
    const { directory, helmValues } = target;
    const refuse = (message: string, path: string[] = []) => context.addIssue({ code: 'custom', path, message });
    const places = kinds.filter((kind) => target[kind] !== undefined).length;
    if (places > 1) refuse(`expected one place at most: ${anyKind}`);
    if (places === 0 && !target.run && !target.check) refuse(`expected a place (${anyKind}), run or check`);
    if (target.runTimeout !== undefined && !target.run) refuse('goes with "run" only', ['runTimeout']);
    if (!target.git) return;
    const inside = directory?.path ?? helmValues?.file;
    if (inside === undefined) refuse('goes with "directory" and "helmValues" only', ['git']);
    else if (/^\/|^[^/]*:|(^|\/)(\.\.|\.git)(\/|$)|\\/.test(inside)) {
      refuse('expected a path within the repository', directory ? ['directory', 'path'] : ['helmValues', 'file']);
    }
  })
  .transform(({ git = null, run = null, runTimeout, check = null, ...places }) => ({
    ...placeIn(places, git, run, check),
    run: run && { command: run, timeoutMs: runTimeout ?? usualRunMs },
    check,
  }));

const usualRunMs = 15 * 60_000;

type Fields = { [Kind in PlaceKind]?: z.output<(typeof placeFields)[Kind]> | undefined };
type Git = z.output<typeof git> | null;

/** A place, the name of its target, which is stable, and what no other target may have too. */
function placeIn(
  { directory, helmValues, bucket }: Fields,
  git: Git,
  run: string[] | null,
  check: { url: string } | null,
) {
  const inside = git ? `${(git.repository.split(/[/:]/).at(-1) ?? '').replace(/\.git$/, '')}/` : '';
  // One spelling for each path, as `absolute` gives it on disk.
  const inRepository = (file: string) => withoutEnd(posix.normalize(file), '/');
  const onDisk = (file: string): string | InPlace<string> => (git ? inRepository(file) : absolute(file));
  const sole = (what: string, field: string, of: string, more = '') => ({
    what,
    field,
    value: git
      ? `${withoutEnd(git.repository, '/').replace(/\/?\.git$/, '')} ${git.branch} ${inRepository(of)}${more}`
      : new InPlace((place) => `${absolute(of).at(place)}${more}`),
  });
  if (directory) {
    const { path } = directory;
    const place = { kind: 'directory' as const, settings: { path: onDisk(path) }, git };
    return { name: `directory:${inside}${path}`, place, sole: sole('folder', 'path', path) };
  }
  if (helmValues) {
    const { file, key } = helmValues;
    const place = { kind: 'helmValues' as const, settings: { file: onDisk(file), key }, git };
    const name = `helmValues:${inside}${file}${key === 'staticExport' ? '' : `#${key}`}`;
    return { name, place, sole: sole('values file', 'file', file, ` ${key}`) };
  }
  if (bucket) {
    const { prefix, endpoint = '' } = bucket;
    const at = prefix === '' ? bucket.bucket : `${bucket.bucket}/${prefix}`;
    const place = { kind: 'bucket' as const, settings: bucket, git: null };
    return {
      name: `bucket:${at}`,
      place,
      sole: { what: 'bucket and prefix', field: 'bucket', value: `${endpoint} ${at}` },
    };
  }
  return { name: run ? `run:${run[0]}` : `check:${check?.url}`, place: null, sole: null };
}

/** Targets of the same name in one site are counted. */
export function named<Target extends { name: string }>(targets: readonly Target[]): Target[] {
  return targets.map((target, index) => {
    const before = targets.slice(0, index).filter(({ name }) => name === target.name).length;
    return before === 0 ? target : { ...target, name: `${target.name}#${before + 1}` };
  });
}

/** A target as docferry.yaml describes it. */
type TargetConfig = Placed<z.output<typeof rolloutSchema>>;
export type PlaceConfig = NonNullable<TargetConfig['place']>;
export type GitConfig = NonNullable<PlaceConfig['git']>;
export type CheckConfig = Omit<NonNullable<TargetConfig['check']>, 'headers'> & {
  headers: Record<string, SecretSource>;
};
export type ProgramConfig = NonNullable<TargetConfig['run']>;
