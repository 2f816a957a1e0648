import { createHash } from 'node:crypto';
import { storedText } from '../store/stored-text.ts';

/** Digest of the ids of a page, whatever their order: 32 hex digits. */
export function digestOfIds(page: { entries: readonly { id: string }[]; rejected: readonly { id: string }[] }): string {
  const ids = [...page.entries, ...page.rejected].map(({ id }) => storedText(id)).sort();
  return createHash('sha256').update(JSON.stringify(ids)).digest('hex').slice(0, 32);
}
