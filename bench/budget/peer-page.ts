import axios from 'axios';
import { z } from 'zod';
import type { PeerSettings } from './peer-environment.ts';

/** A page, or for how long to wait before it is asked for again, in milliseconds. */
export type PeerPage = { entries: number; nextCursor: string | null } | { waitMs: number };

const pageSchema = z.object({ feedback: z.array(z.unknown()), nextCursor: z.string().nullable() });

/** Reads one page the plain way: axios, and after a refusal the wait that the service asks for. */
export function createPageReader({ service, key, project, windowMs }: PeerSettings) {
  const http = axios.create({
    baseURL: service,
    headers: { Authorization: `Bearer ${key}` },
    validateStatus: () => true,
    timeout: 10_000,
  });
  return async (cursor: string | null): Promise<PeerPage> => {
    const params = { limit: 100, ...(cursor === null ? {} : { cursor }) };
    const answer = await http.get<unknown>(`/v1/analytics/${project}/feedback`, { params });
    if (answer.status === 429) {
      const seconds = Number(answer.headers['retry-after']);
      return { waitMs: seconds > 0 ? seconds * 1_000 : windowMs / 20 };
    }
    if (answer.status !== 200) return { waitMs: 1_000 };
    const { feedback, nextCursor } = pageSchema.parse(answer.data);
    return { entries: feedback.length, nextCursor };
  };
}
