import { hash } from 'node:crypto';
import { z } from 'zod';
import { contentDigest } from '../archive/content-digest.ts';
import { versionTime } from '../rules/site-export.ts';
import { checkSignature, type TrustedKeys } from '../signing/minisign.ts';
import {
  type BundleStore,
  currentSchema,
  holdSchema,
  identityPath,
  type Manifest,
  manifestName,
  manifestSchema,
  NoSuchVersion,
  observedSchema,
  type PublishedVersion,
  RecordDamaged,
  SignedByUnknownKey,
  StagedChanged,
  type StagedManifest,
  signatureName,
  stagedSchema,
  storeName,
  VersionConflict,
  VersionDamaged,
} from './bundle-store.ts';
import { inUseSchema } from './retention.ts';

/**
 * In a bucket, which has no lock, a record that ends is replaced instead of removed: nothing is in service yet or any
 * more, or nobody holds the site.
 */
const nothingSchema = z.object({ version: z.null() }).transform(() => null);

/** A JSON record of a domain that changes, and its file's name (contracts.md "bundle store"). */
export interface RecordKind<Content> {
  file: string;
  schema: z.ZodType<Content>;
}
const kind = <Content>(file: string, schema: z.ZodType<Content>): RecordKind<Content> => ({ file, schema });

export const records = {
  current: kind('current.json', z.union([currentSchema, nothingSchema])),
  /** Whether, and at which version, a person holds the site. */
  hold: kind('hold.json', z.union([holdSchema, nothingSchema])),
  /** The version that each target last rolled out successfully. */
  rollouts: kind('rollouts.json', z.record(z.string(), z.string())),
  /** What was read back of the targets. */
  observed: kind('observed.json', observedSchema),
  /** What must not be removed now (`retention.ts`). */
  inUse: kind('in-use.json', inUseSchema),
  /** From when on a step must be scheduled to move the pointer (E11); absent: any. */
  claim: kind('claim.json', z.object({ since: z.iso.datetime().transform((text) => new Date(text)) })),
};

/** Throws `RangeError`. */
export const recordPath = (domain: string, { file }: Pick<RecordKind<unknown>, 'file'>): string =>
  `${storeName('domain', domain)}/${file}`;

const staged = kind('staged.json', stagedSchema);
const published = kind(manifestName, manifestSchema);
const identity = kind(
  identityPath,
  z.object({ identity: z.string().min(1), predecessors: z.array(z.string()).default([]) }),
);

/** `.store.json`. */
export type StoreIdentity = z.infer<typeof identity.schema>;

export const parseManifest = (text: string): Manifest => parseRecord(published, text);
export const parseIdentity = (text: string): StoreIdentity => parseRecord(identity, text);

/** Throws `RecordDamaged`, which names the path, when the text is another. */
export function parseRecord<Content>({ file, schema }: RecordKind<Content>, text: string, path = file): Content {
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    throw new RecordDamaged(path);
  }
}

/** The manifest in a text; null when the text is no manifest. */
export function manifestIn(text: string): Manifest | null {
  try {
    return parseManifest(text);
  } catch {
    return null;
  }
}

/** A version as lists show it. */
export function publishedVersion(
  { version, contentDigest, pages, archive, source }: Manifest,
  publishedAt: string,
): PublishedVersion {
  return { version, contentDigest, publishedAt, pages, bytes: archive.bytes, jobId: source.jobId };
}

/** JSON as people and programs read it. */
export function toJson(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** Where a manifest contradicts itself, or the site and version under which it is stored. */
export function contradictions(domain: string, version: string, manifest: Manifest): string[] {
  const wrong: string[] = [];
  if (manifest.version !== version) wrong.push(`${manifestName} belongs to another version`);
  if (manifest.source.domain !== domain) wrong.push(`${manifestName} belongs to another site`);
  if (contentDigest(manifest.files) !== manifest.contentDigest) {
    wrong.push(`the files in ${manifestName} do not have its content digest`);
  }
  if (versionTime(version) !== null && !version.endsWith(`-${manifest.contentDigest.slice(0, 12)}`)) {
    wrong.push('its content digest is not the one in its name');
  }
  return wrong;
}

type Manifests = Pick<BundleStore, 'manifest' | 'open' | 'verificationKeys'>;

/**
 * The manifest of a version that is about to be used, once it is proved to be its own: site, version, content digest and,
 * where the store signs, the signature. Another writer of the store could have put another in its place. Throws
 * `NoSuchVersion`, `VersionDamaged`, `SigningKeyUnusable`.
 */
export async function provenManifest(store: Manifests, domain: string, version: string): Promise<Manifest> {
  const found = await readManifest(store, domain, version);
  const keys = await store.verificationKeys();
  const manifest = keys === null ? found : await signedManifest(store, { domain, version, keys });
  const wrong = contradictions(domain, version, manifest);
  if (wrong.length > 0) throw new VersionDamaged(wrong.join('; '));
  return manifest;
}

/** The manifest as it is stored; null when the version does not exist. */
export async function manifestIfThere(
  store: Pick<BundleStore, 'manifest'>,
  domain: string,
  version: string,
): Promise<Manifest | null> {
  return store.manifest(domain, version).catch((error: unknown) => {
    if (error instanceof NoSuchVersion) return null;
    throw error;
  });
}

async function readManifest(store: Manifests, domain: string, version: string): Promise<Manifest> {
  try {
    return await store.manifest(domain, version);
  } catch (error) {
    throw error instanceof RecordDamaged ? new VersionDamaged(`${manifestName} is damaged`) : error;
  }
}

/** The content of a small file of a version; null when it does not exist. Throws what the store throws. */
export async function contentOf(
  store: Pick<BundleStore, 'open'>,
  domain: string,
  version: string,
  file: string,
): Promise<Buffer | null> {
  const stream = await store.open(domain, version, file);
  return stream === null ? null : Buffer.concat(await stream.toArray());
}

/** Parsed from the very bytes whose signature was checked. */
async function signedManifest(
  store: Manifests,
  { domain, version, keys }: { domain: string; version: string; keys: TrustedKeys },
): Promise<Manifest> {
  const bytes = (await contentOf(store, domain, version, manifestName)) ?? Buffer.alloc(0);
  const signature = await contentOf(store, domain, version, signatureName);
  const checked = checkSignature(bytes, signature?.toString() ?? null, keys);
  if ('broken' in checked) {
    const { rule, detail } = checked.broken;
    const problem = `${manifestName} is not signed by this store's keys: ${detail}`;
    if (rule === 'signature-key') {
      throw new SignedByUnknownKey(`${problem} (if that key is yours, list its public key in signing.formerKeys)`);
    }
    const remedy = `publish it again with \`export start --force\`, or sign its ${manifestName} with minisign`;
    throw new VersionDamaged(`${problem} (${remedy})`);
  }
  const manifest = manifestIn(bytes.toString());
  if (manifest === null) throw new VersionDamaged(`${manifestName} is damaged`);
  return manifest;
}

/** The manifest published under a version's name, if it has the wanted content. Throws `VersionConflict`. */
export function requireSameContent(published: Manifest | null, wanted: Manifest): Manifest {
  if (!published)
    throw new VersionConflict(
      `version ${wanted.version} is in the store, but incomplete: remove it there, then export again`,
    );
  const same = published.contentDigest === wanted.contentDigest && published.archive.sha256 === wanted.archive.sha256;
  if (!same) throw new VersionConflict(`version ${wanted.version} is already published with other content`);
  return published;
}

/**
 * SHA-256 of what verification recorded of an archive (`staged.json`): its digest, its hash and every file. Temporal
 * keeps it, in heartbeats and the run's history, out of reach of those who can write to the store.
 */
export function sealOf(manifest: StagedManifest): string {
  return hash('sha256', toJson(manifest));
}

/** The sealed record; null when there is none, or another. */
export function sealedManifest(text: string | null, seal: string): StagedManifest | null {
  return text !== null && hash('sha256', text) === seal ? parseRecord(staged, text) : null;
}

/** The sealed record. Throws `StagedChanged`. */
export function requireSealed(text: string | null, stageId: string, seal: string): StagedManifest {
  const manifest = sealedManifest(text, seal);
  if (manifest !== null) return manifest;
  if (text === null) throw new StagedChanged(`nothing verified is staged as ${stageId}`);
  throw new StagedChanged('staged.json is not what was recorded when the archive was verified');
}
