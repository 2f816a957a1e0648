import type { ConsoleReader } from '../readings/console-reader.ts';

/** A form that was sent. */
export interface Order {
  /** Unique to the form, however often it is sent. The browser could choose it. */
  id: string;
  /** Unique to this time that the form is followed; made here, so that nobody can keep a deed out of the audit by it. */
  request: string;
  form: URLSearchParams;
  /** Who sent it. */
  login: string;
}

/** Something that can be done by a form. */
export interface Action<Subject> {
  /** On its button and as the title of its questions. */
  label: string;
  /** Asked before, of what cannot be undone; null for what can. */
  question: ((subject: Subject, form: URLSearchParams) => string) | null;
  /** Does it, and says what was done. */
  run(reader: ConsoleReader, subject: Subject, order: Order): Promise<string>;
}
