import { type FeedbackQuery, feedbackAddress } from '../readings/feedback-query.ts';
import { longestField } from '../readings/feedback-readings.ts';

/** In characters as an address has them; the console takes 16 KiB, cookies included. */
const longest = 8_000;

/** Address of an entry's page; null for an id that no address can hold, such as `..`, which a browser takes for a step up. */
export function entryAddress(project: string, id: string): string | null {
  const address = `/feedback/${encodeURIComponent(project)}/${encodeURIComponent(id.toWellFormed())}`;
  return /^\.{0,2}$/.test(id) || isCut(id) || address.length > longest ? null : address;
}

/** Address of what is said of a document, as far as it fits a query; null for a document that no address can hold. */
export function documentAddress(query: Partial<FeedbackQuery>, document: string): string | null {
  const address = feedbackAddress({ ...query, document, by: '', after: '' });
  return isCut(document) || address.length > longest ? null : address;
}

/** Of a text so long only the beginning was read. */
const isCut = (text: string): boolean => text.length >= longestField;
