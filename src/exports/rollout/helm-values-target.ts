import { readFile } from 'node:fs/promises';
import { errorCode, rewriteFile } from '../../files.ts';
import { withoutEnd } from '../../rules/text.ts';
import { versionTime } from '../rules/site-export.ts';
import { editHelmValues, readHelmValues, staticExport, ValuesRefused } from './edit-helm-values.ts';
import type { RolloutRequest, RolloutTarget } from './rollout-target.ts';
import { RolloutSuperseded, TargetRefused } from './rollout-target.ts';

interface HelmValuesTargetOptions {
  /** As in the configuration, e.g. `helmValues:deploy/values.yaml`. */
  name: string;
  /** Absolute path of the values file. */
  file: string;
  /** Address under which bundles are published; a file with another address does not run a published version. */
  publicUrl: string;
}

const unusable: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist: create it (it may be empty), or correct its path in the configuration',
  ENOTDIR: 'does not exist: one of its folders is a file',
  EISDIR: 'is a folder: name the values file in it',
  EACCES: 'cannot be read or replaced (EACCES): check the owner of the file and of its folder',
  EPERM: 'cannot be replaced (EPERM): check the owner of the file and of its folder',
  EROFS: 'cannot be replaced: it is on a read-only file system',
  ENOSPC: 'cannot be replaced: the disk is full',
  EDQUOT: 'cannot be replaced: the quota is used up',
};

/**
 * Puts a version into service by three fields of a Helm values file (contracts.md "Helm values"), which a deployment tool
 * applies to the cluster. The file gets the published address, never a presigned link (E3).
 */
export class HelmValuesTarget implements RolloutTarget {
  readonly name: string;
  readonly #file: string;
  readonly #publicUrl: string;

  constructor({ name, file, publicUrl }: HelmValuesTargetOptions) {
    this.name = name;
    this.#file = file;
    this.#publicUrl = withoutEnd(publicUrl, '/');
  }

  async runningVersion(): Promise<string | null> {
    const found = await this.#inService().catch(() => null);
    if (!found) return null;
    const { bundleUrl, version } = found;
    const isPublished = bundleUrl.startsWith(`${this.#publicUrl}/`) && bundleUrl.includes(`/versions/${version}/`);
    return isPublished ? version : null;
  }

  /** Throws `TargetRefused`, `RolloutSuperseded`, other system errors, and the signal's reason. */
  async rollOut(request: RolloutRequest): Promise<string> {
    try {
      return await this.#rollOut(request, publishedAddress(request.url));
    } catch (error) {
      const code = errorCode(error) ?? '';
      const problem = error instanceof ValuesRefused ? error.message : unusable[code];
      throw problem === undefined ? error : new TargetRefused(`${this.#file} ${problem}`);
    }
  }

  async #rollOut({ manifest, isWanted, signal }: RolloutRequest, bundleUrl: string): Promise<string> {
    const { version } = manifest;
    for (;;) {
      const before = await this.#read();
      const { text, changed } = editHelmValues(before, { bundleUrl, version });
      if (changed.length === 0) return `${this.#file} has ${version} already`;
      // A suspended attempt may wake long after another version went into service.
      if (isWanted && !(await isWanted())) throw new RolloutSuperseded(version);
      signal?.throwIfAborted();
      // What a person or a program has edited meanwhile stays.
      if ((await this.#read()) !== before) continue;
      await rewriteFile(this.#file, text);
      const fields = changed.map((field) => `${staticExport}.${field}`).join(', ');
      return `${version} in ${this.#file} (changed ${fields}), before: ${versionIn(before)}`;
    }
  }

  async #inService() {
    return readHelmValues(await this.#read());
  }

  async #read(): Promise<string> {
    const bytes = await readFile(this.#file);
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      throw new ValuesRefused('invalid-yaml', 'is not UTF-8 text');
    }
  }
}

/** The permanent address; throws `TargetRefused` for others: a presigned link has a query. */
function publishedAddress(url: string): string {
  const { protocol, username, search, hash } = new URL(url);
  if (/^https?:$/.test(protocol) && username === '' && search === '' && hash === '') return url;
  throw new TargetRefused('only a published address goes into a values file: no query, no credentials');
}

/** For people; a value that is not a version's name could be anything, and is not shown. */
function versionIn(text: string): string {
  const version = readHelmValues(text)?.version;
  if (version === undefined) return 'none';
  return versionTime(version) === null ? 'another' : version;
}
