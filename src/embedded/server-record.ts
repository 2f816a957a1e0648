import { readFile, rm } from 'node:fs/promises';
import { z } from 'zod';
import { replaceFile } from '../files/replace-file.ts';

const schema = z.object({
  /** The server's process and when it was started (`RunningProcess.startedAt`). */
  pid: z.int().positive(),
  startedAt: z.string(),
  port: z.int(),
  /** `host:port` of the UI; null for none, absent in records of earlier versions. */
  ui: z.string().nullish(),
  dbFile: z.string(),
  /** Digest of the program and its arguments; a server with another fingerprint is replaced, not adopted. */
  fingerprint: z.string(),
  /** The docferry process that last started or adopted the server. */
  owner: z.int().positive(),
});

/** What `<dbFile>.server.json` records about a running server, for the docferry that starts after a kill -9. */
export type ServerRecord = z.infer<typeof schema>;

const recordFile = (dbFile: string) => `${dbFile}.server.json`;

/** The record of a database's server; undefined when there is none or it cannot be parsed. */
export async function readRecord(dbFile: string): Promise<ServerRecord | undefined> {
  try {
    return schema.parse(JSON.parse(await readFile(recordFile(dbFile), 'utf8')));
  } catch {
    return undefined;
  }
}

/** Writes the record whole or not at all, for this user alone. */
export async function writeRecord(record: ServerRecord): Promise<void> {
  await replaceFile(recordFile(record.dbFile), `${JSON.stringify(record, undefined, 2)}\n`, { mode: 0o600 });
}

export async function removeRecord(dbFile: string): Promise<void> {
  await rm(recordFile(dbFile), { force: true });
}
