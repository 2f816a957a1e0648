import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { z } from 'zod';
import type { StatusChange, StatusEntry } from '../status/status-changes.ts';
import type { Arrival } from './budget-figures.ts';

const logSchema = z.array(
  z.object({
    at: z.number(),
    atMono: z.number(),
    kind: z.string(),
    path: z.string(),
    status: z.number().nullable(),
    fault: z.string().nullable(),
  }),
);
const entrySchema = z.object({ id: z.string(), status: z.string(), createdAt: z.string().nullable() });
const addedSchema = z.object({ ids: z.array(z.string()) });

/** What a sandbox in another process tells of itself. */
export class SandboxControl {
  readonly #url: string;

  constructor(serviceUrl: string) {
    this.#url = `${serviceUrl}/control`;
  }

  /** Analytics requests in the order of their arrival. */
  async log(): Promise<Arrival[]> {
    const log = logSchema.parse(await (await this.#ask('log')).json());
    return log.filter(({ kind }) => kind === 'analytics');
  }

  /** The service's entries; they come one a line, because a million of them are too long for one text. */
  async *truthOf(project: string): AsyncGenerator<StatusEntry> {
    const { body } = await this.#ask(`truth?project=${project}`);
    if (body === null) return;
    for await (const line of createInterface({ input: Readable.fromWeb(body) })) {
      const item = line.replace(/^\[/, '').replace(/[,\]]$/, '');
      if (item !== '') yield entrySchema.parse(JSON.parse(item));
    }
  }

  async changeEntries(project: string, changes: readonly StatusChange[]): Promise<void> {
    await this.#ask('entries/change', { project, changes });
  }

  /** Adds generated entries of this moment; gives their ids. */
  async addEntries(project: string, count: number): Promise<string[]> {
    const answer = await this.#ask('entries/add', { project, count });
    return addedSchema.parse(await answer.json()).ids;
  }

  async #ask(name: string, order?: object): Promise<Response> {
    const request = order === undefined ? {} : { method: 'POST', body: JSON.stringify(order) };
    const response = await fetch(`${this.#url}/${name}`, request);
    if (!response.ok) throw new Error(`the sandbox answered ${response.status} for ${name}`);
    return response;
  }
}
