import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { rewriteUnchanged, whyNotWritable } from '../../files.ts';
import { withoutEnd } from '../../rules/text.ts';
import type { Observed } from '../rules/rollout-steps.ts';
import { versionTime } from '../rules/site-export.ts';
import { editHelmValues, readHelmValues, ValuesRefused } from './edit-values.ts';
import { fileTrouble, type Place, type RolloutRequest, TargetRefused } from './rollout-target.ts';

interface HelmValuesOptions {
  file: string;
  /** The mapping of the three fields, e.g. `spec.values.staticExport`. */
  key?: string;
  /** Address under which bundles are published; a file with another address does not run a published version. */
  publicUrl: string;
}

/** The mapping that the self-hosted product's chart reads (service-interface.md, point 6). */
const usualKey = 'staticExport';

/** Three fields of a Helm values file (contracts.md) get the published address, never a presigned link (E3). */
export class HelmValuesPlace implements Place {
  readonly #file: string;
  readonly #key: string;
  readonly #publicUrl: string;

  constructor({ file, key = usualKey, publicUrl }: HelmValuesOptions) {
    this.#file = file;
    this.#key = key;
    this.#publicUrl = withoutEnd(publicUrl, '/');
  }

  async observe(): Promise<Observed> {
    try {
      const found = readHelmValues(await this.#read(), this.#key);
      const since = (await stat(this.#file)).mtime.toISOString();
      if (!found) return { runs: 'none', why: `${this.#file} enables no ${this.#key}`, since };
      const { bundleUrl, version } = found;
      const isPublished = bundleUrl.startsWith(`${this.#publicUrl}/`) && bundleUrl.includes(`/versions/${version}/`);
      if (isPublished) return { runs: 'version', version, since };
      return { runs: 'unknown', why: `${this.#file} names an address that docferry did not publish for its version` };
    } catch (error) {
      return { runs: 'unknown', why: (this.#explained(error) as Error).message };
    }
  }

  async examine(): Promise<string> {
    try {
      editHelmValues(await this.#read(), this.#key, { bundleUrl: 'http://localhost/', version: 'x' });
      const problem = await whyNotWritable(dirname(await realpath(this.#file)));
      if (problem !== null) throw new TargetRefused(`${this.#file} cannot be replaced: ${problem}`);
    } catch (error) {
      throw this.#explained(error);
    }
    return `${this.#file} can be replaced`;
  }

  /** Throws `TargetRefused`, other system errors, the signal's reason, and what `guard` throws. */
  async take(request: RolloutRequest): Promise<string> {
    try {
      return await this.#rollOut(request, publishedAddress(request.url));
    } catch (error) {
      throw this.#explained(error);
    }
  }

  #explained(error: unknown): unknown {
    if (error instanceof ValuesRefused) return new TargetRefused(`${this.#file} ${error.message}`);
    return fileTrouble(error, this.#file);
  }

  async #rollOut({ manifest, guard, signal }: RolloutRequest, bundleUrl: string): Promise<string> {
    const { version } = manifest;
    for (;;) {
      const before = await this.#read();
      const { text, changed } = editHelmValues(before, this.#key, { bundleUrl, version });
      if (changed.length === 0) return `${this.#file} has ${version} already`;
      // A suspended attempt may wake long after another version went into service.
      await guard();
      signal?.throwIfAborted();
      // What a person, a program or another site's rollout has edited meanwhile stays.
      if (!(await rewriteUnchanged(this.#file, before, text))) continue;
      const fields = changed.map((field) => `${this.#key}.${field}`).join(', ');
      return `${version} in ${this.#file} (changed ${fields}), before: ${versionIn(before, this.#key)}`;
    }
  }

  async #read(): Promise<string> {
    const bytes = await readFile(this.#file);
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      throw new ValuesRefused('is not UTF-8 text');
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
function versionIn(text: string, key: string): string {
  const version = readHelmValues(text, key)?.version;
  if (version === undefined) return 'none';
  return versionTime(version) === null ? 'another' : version;
}
