import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Client } from '@temporalio/client';
import {
  DefaultFailureConverter,
  defaultPayloadConverter,
  type LoadedDataConverter,
  type Payload,
  type PayloadCodec,
  type ProtoFailure,
} from '@temporalio/common';
import {
  decodeFromPayloadsAtIndex,
  decodeOptionalFailureToOptionalError,
} from '@temporalio/common/lib/internal-non-workflow/index.js';
import proto from '@temporalio/proto';
import type { WorkerOptions } from '@temporalio/worker';
import { ExplainedError } from '../rules/errors.ts';
import { isTracing } from './traces.ts';

/** How payloads are encoded, according to docferry.yaml: by keys, by a codec of one's own, or not at all. */
export interface EncryptionSettings {
  encryption?: { keys: readonly { id: string; keyFile: string }[] } | null;
  /** A module whose default export is a `PayloadCodec`. */
  codec?: string | null;
}

/** A key file or codec of the configuration cannot be used. Says nothing of what a key file holds. */
export class EncryptionUnusable extends ExplainedError {
  override readonly name = 'EncryptionUnusable';
  readonly code = 'EncryptionUnusable';
}

/** Something in Temporal is encrypted with a key that this process does not have. */
export class EncryptionKeyMissing extends ExplainedError {
  override readonly name = 'EncryptionKeyMissing';
  readonly code = 'EncryptionKeyMissing';
  override readonly hint =
    'add the key to temporal.encryption.keys of every worker and command; the first key writes, all of them read';

  constructor(keyId: string) {
    super(`a payload is encrypted with the key ${keyId}, which is not configured here`);
  }
}

/** By the names that Temporal's own examples use, so that other tools recognize encrypted payloads. */
const encryptedEncoding = 'binary/encrypted';
const keyIdField = 'encryption-key-id';
const [keyBytes, nonceBytes, tagBytes] = [32, 12, 16];

/** A payload as it was before it was encrypted. */
const ClearPayload = proto.temporal.api.common.v1.Payload;

const bytes = (text: string) => Buffer.from(text);
const textIn = ({ metadata }: Payload, field: string) => {
  const value = metadata?.[field];
  return value ? Buffer.from(value).toString() : null;
};

/** The id of the key that a payload is encrypted with; null for a payload in clear text. */
export function keyIdOf(payload: Payload): string | null {
  return textIn(payload, 'encoding') === encryptedEncoding ? (textIn(payload, keyIdField) ?? '') : null;
}

/**
 * AES-256-GCM: the first key encrypts, all of them decrypt. Payloads in clear text pass, since a namespace may have had no
 * encryption before, and people send messages from the Temporal UI. Without keys it writes clear text, and like any other
 * ring refuses what it has no key for: a worker that lacks a key must leave the work to one that has it (X5).
 */
export class KeyRing implements PayloadCodec {
  readonly #keys: ReadonlyMap<string, Buffer>;

  constructor(keys: readonly { id: string; key: Buffer }[]) {
    this.#keys = new Map(keys.map(({ id, key }) => [id, key]));
  }

  /** The id of the key that encrypts; null without keys. */
  get writes(): string | null {
    const [first = null] = this.#keys.keys();
    return first;
  }

  async encode(payloads: Payload[]): Promise<Payload[]> {
    const [first] = this.#keys;
    if (first === undefined) return payloads;
    const [id, key] = first;
    return payloads.map((payload) => {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(bytes(id));
      const clear = ClearPayload.encode(payload).finish();
      const data = Buffer.concat([nonce, cipher.update(clear), cipher.final(), cipher.getAuthTag()]);
      return { metadata: { encoding: bytes(encryptedEncoding), [keyIdField]: bytes(id) }, data };
    });
  }

  /** Throws `EncryptionKeyMissing`. What cannot be decrypted with its key was never ours, and stays undecodable. */
  async decode(payloads: Payload[]): Promise<Payload[]> {
    return payloads.map((payload) => {
      const id = keyIdOf(payload);
      if (id === null) return payload;
      const key = this.#keys.get(id);
      if (key === undefined) throw new EncryptionKeyMissing(id);
      try {
        const data = Buffer.from(payload.data ?? []);
        const decipher = createDecipheriv('aes-256-gcm', key, data.subarray(0, nonceBytes), { authTagLength: tagBytes })
          .setAAD(bytes(id))
          .setAuthTag(data.subarray(-tagBytes));
        const clear = Buffer.concat([decipher.update(data.subarray(nonceBytes, -tagBytes)), decipher.final()]);
        return ClearPayload.decode(clear);
      } catch {
        return payload;
      }
    });
  }
}

/** Whether what this process writes is encoded. */
export const isEncoded = ({ encryption, codec }: EncryptionSettings): boolean => Boolean(encryption ?? codec);

/** The codec of a configuration. Throws `EncryptionUnusable`. */
export async function codecOf({ encryption, codec }: EncryptionSettings): Promise<PayloadCodec> {
  if (codec) return loadCodec(codec);
  return new KeyRing((encryption?.keys ?? []).map(({ id, keyFile }) => ({ id, key: readKey(id, keyFile) })));
}

async function loadCodec(file: string): Promise<PayloadCodec> {
  const hint = 'correct temporal.codec; its default export must be an object with the methods encode and decode';
  let loaded: { default?: Partial<PayloadCodec> };
  try {
    loaded = await import(pathToFileURL(file).href);
  } catch (error) {
    throw new EncryptionUnusable(`the codec ${file} cannot be loaded (${nameOf(error)})`, hint);
  }
  const codec = loaded.default;
  if (typeof codec?.encode === 'function' && typeof codec.decode === 'function') return codec as PayloadCodec;
  throw new EncryptionUnusable(`the codec ${file} has no default export with encode and decode`, hint);
}

/** Code or name alone: a message might quote what the file holds. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  return 'code' in error ? String(error.code) : error.name;
}

function readKey(id: string, file: string): Buffer {
  const place = `the key ${id} of temporal.encryption`;
  const hint = 'make a key with `openssl rand -hex 32`, and give the same file to every worker and command';
  let text: string;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new EncryptionUnusable(`${place} cannot be read from ${file} (${nameOf(error)})`, hint);
  }
  const key = Buffer.from(text, 'hex');
  if (key.length === keyBytes && /^[0-9a-fA-F]{64}$/.test(text)) return key;
  throw new EncryptionUnusable(`${place} in ${file}: expected 64 hexadecimal digits`, hint);
}

/** What a client converts with. Throws `EncryptionUnusable`. */
export async function clientConverter(settings: EncryptionSettings): Promise<LoadedDataConverter> {
  return {
    payloadConverter: defaultPayloadConverter,
    failureConverter: new DefaultFailureConverter({ encodeCommonAttributes: isEncoded(settings) }),
    payloadCodecs: [await codecOf(settings)],
  };
}

type WorkflowCode = NonNullable<WorkerOptions['workflowBundle']>;

/** What a worker converts with, beside a client of the same configuration. */
export function workerConverter(
  settings: EncryptionSettings,
  client: Client,
): NonNullable<WorkerOptions['dataConverter']> {
  const { payloadCodecs } = client.options.loadedDataConverter;
  if (!isEncoded(settings)) return { payloadCodecs };
  Reflect.set(globalThis, encodesFailures, true);
  const sibling = `./failure-converter${import.meta.url.slice(import.meta.url.lastIndexOf('.'))}`;
  return { payloadCodecs, failureConverterPath: fileURLToPath(new URL(sibling, import.meta.url)) };
}

/** The global that `failure-converter.ts` reads; the bundle of workflows has globals of its own. */
const encodesFailures = 'docferryEncodesFailures';
/** The workflow bundle that the build writes to the root of `dist`. */
const builtBundle = fileURLToPath(new URL('../../workflow-bundle.js', import.meta.url));

/** The code of this build's workflows. */
export function builtWorkflows(): { codePath: string } {
  if (existsSync(builtBundle)) return { codePath: builtBundle };
  throw new Error('the bundle of workflows is missing: run `npm run build`');
}

/** The workflows' code for a worker, with the settings that encode failures and hand traces on. */
export function workflowCode(settings: EncryptionSettings, code: WorkflowCode = builtWorkflows()): WorkflowCode {
  const told = [...(isEncoded(settings) ? [encodesFailures] : []), ...(isTracing() ? ['docferryTraces'] : [])];
  if (told.length === 0) return code;
  const text = 'code' in code ? code.code : readFileSync(code.codePath, 'utf8');
  return { code: `${told.map((name) => `globalThis.${name} = true;`).join('')}${text}` };
}

/** The id of the key with which a client writes; null for clear text and codecs of the installation. */
export function writingKeyOf(client: Client): string | null {
  const [codec] = client.options.loadedDataConverter.payloadCodecs;
  return codec instanceof KeyRing ? codec.writes : null;
}

/** The first value of payloads as Temporal has them; null when there is none. Throws `EncryptionKeyMissing`. */
export async function decodedValue(client: Client, payloads: Payload[] | null | undefined): Promise<unknown> {
  if (!payloads?.length) return null;
  return decodeFromPayloadsAtIndex(client.options.loadedDataConverter, 0, payloads);
}

/** The message of a failure as Temporal has it, decrypted; of one that cannot be decrypted, why. */
export async function failureMessage(client: Client, failure: ProtoFailure): Promise<string> {
  const decoded = decodeOptionalFailureToOptionalError(client.options.loadedDataConverter, failure);
  const error = await decoded.catch((reason: unknown) => reason);
  return error instanceof Error ? error.message : 'failed';
}

/** The ids of the keys with which any payload within an answer of Temporal's is encrypted. */
export function keysIn(answer: unknown): Set<string> {
  const found = new Set<string>();
  const look = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return;
    if ('metadata' in value && 'data' in value) {
      const id = keyIdOf(value as Payload);
      if (id !== null) found.add(id);
      return;
    }
    for (const inner of Object.values(value)) look(inner);
  };
  look(answer);
  return found;
}
