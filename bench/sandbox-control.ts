import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { z } from 'zod';
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
const entrySchema = z.object({ id: z.string() });

/** What a sandbox in another process tells of itself. */
export class SandboxControl {
  readonly #url: string;

  constructor(serviceUrl: string) {
    this.#url = `${serviceUrl}/control`;
  }

  /** Analytics requests in the order of their arrival. */
  async log(): Promise<Arrival[]> {
    const log = logSchema.parse(await (await this.#get('log')).json());
    return log.filter(({ kind }) => kind === 'analytics');
  }

  /** Ids of the service's entries; they come one a line, because a million of them are too long for one text. */
  async *truthOf(project: string): AsyncGenerator<string> {
    const { body } = await this.#get(`truth?project=${project}`);
    if (body === null) return;
    for await (const line of createInterface({ input: Readable.fromWeb(body) })) {
      const item = line.replace(/^\[/, '').replace(/[,\]]$/, '');
      if (item !== '') yield entrySchema.parse(JSON.parse(item)).id;
    }
  }

  async #get(name: string): Promise<Response> {
    const response = await fetch(`${this.#url}/${name}`);
    if (!response.ok) throw new Error(`the sandbox answered ${response.status} for ${name}`);
    return response;
  }
}
