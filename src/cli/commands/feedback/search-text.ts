import type {
  DocumentAnswer,
  FoundEntry,
  FoundText,
  FoundTotal,
  SearchAnswer,
} from '../../../feedback/search/feedback-search.ts';
import { countText } from '../../../rules/text.ts';
import type { Output, Paint } from '../../terminal/output.ts';
import { printable, tableLines, timeText } from '../../terminal/text.ts';

/** Characters of a text in a line, and before what was found first. */
const longestOnTerminal = 120;
const longest = 300;
const before = 30;

/** Entries as a table: what was found is marked on a terminal. */
export function entriesText({ entries, total, after }: SearchAnswer, output: Output): string {
  const { paint, surface } = output;
  const most = output.toTerminal ? longestOnTerminal : longest;
  const withContacts = entries.some(({ contact }) => contact !== null);
  const table = tableLines(
    [
      'created (UTC)',
      'project',
      'id',
      'page',
      'source',
      'status',
      'helpful',
      ...(withContacts ? ['contact'] : []),
      'text',
    ],
    entries.map((entry) => [
      timeText(entry.createdAt),
      printable(entry.project),
      printable(entry.id),
      printable(entry.document),
      printable(entry.source),
      printable(entry.status),
      entry.helpful === null ? '-' : entry.helpful ? 'yes' : 'no',
      ...(withContacts ? [printable(entry.contact ?? '-')] : []),
      textOf(entry, paint, most),
    ]),
    surface.columns,
  );
  const more = after === null ? '' : `; more with --limit, or --after ${after}`;
  return `${table}\n\n${totalText(total, entries.length)}${more}`;
}

export function documentsText({ documents, total, more }: DocumentAnswer, { surface }: Output): string {
  const table = tableLines(
    ['page', 'project', 'entries', 'helped', 'did not', 'latest (UTC)'],
    documents.map(({ document, project, entries, helpful, latest }) => [
      printable(document),
      printable(project),
      countText(entries),
      countText(helpful.yes),
      countText(helpful.no),
      timeText(latest),
    ]),
    surface.columns,
  );
  const counted = total.isExact ? `${entriesOf(total.count)} found` : `counted: the newest ${entriesOf(total.count)}`;
  return `${table}\n\n${counted}${more === 0 ? '' : `; ${countText(more)} more pages with --limit`}`;
}

function totalText({ count, isExact }: FoundTotal, shown: number): string {
  return `${countText(shown)} of ${isExact ? '' : 'more than '}${entriesOf(count)}`;
}

function entriesOf(count: number): string {
  return `${countText(count)} ${count === 1 ? 'entry' : 'entries'}`;
}

/** The text that contains the hit; the comment if neither or both do. */
function textOf({ comment, code }: FoundEntry, paint: Paint, most: number): string {
  const inCode = code !== null && (comment === null || (comment.marks.length === 0 && code.marks.length > 0));
  const found = inCode ? code : comment;
  return found === null ? '' : lineOf(found, paint, most);
}

function lineOf({ text, from, length, marks }: FoundText, paint: Paint, most: number): string {
  const [first] = marks;
  const start = text.length <= most ? 0 : Math.max(0, Math.min((first?.[0] ?? 0) - before, text.length - most));
  const end = Math.min(text.length, start + most);
  const part = (a: number, b: number) =>
    onOneLine(text.slice(Math.max(a, start), Math.max(Math.max(a, start), Math.min(b, end))));
  let at = start;
  let line = from + start > 0 ? '…' : '';
  for (const [a, b] of marks) {
    line += part(at, a) + paint.bold(paint.yellow(part(a, b)));
    at = Math.max(at, b);
  }
  return line + part(at, end) + (from + end < length ? '…' : '');
}

function onOneLine(text: string): string {
  return printable(text.toWellFormed().replaceAll(/\s+/gu, ' '), Number.POSITIVE_INFINITY);
}
