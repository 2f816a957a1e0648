import axios from 'axios';
import { z } from 'zod';

/** Where a plain script reads. */
interface PlainSource {
  service: string;
  key: string;
  project: string;
}

const pageSchema = z.object({
  feedback: z.array(z.object({ id: z.string(), status: z.string() })),
  nextCursor: z.string().nullable(),
});

/**
 * What people's own scripts do: page after page by cursor, each entry replacing what was held of it. With `from`, only
 * what was created since then. Gives the requests it took.
 */
export async function plainFetch(
  { service, key, project }: PlainSource,
  held: Map<string, string>,
  from?: string,
): Promise<number> {
  const http = axios.create({ baseURL: service, headers: { Authorization: `Bearer ${key}` }, timeout: 30_000 });
  let requests = 0;
  let cursor: string | null = null;
  do {
    const params: Record<string, string | number> = { limit: 100 };
    if (from !== undefined) params.dateFrom = from;
    if (cursor !== null) params.cursor = cursor;
    const answer = await http.get<unknown>(`/v1/analytics/${project}/feedback`, { params });
    requests += 1;
    const page = pageSchema.parse(answer.data);
    for (const { id, status } of page.feedback) held.set(id, status);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return requests;
}
