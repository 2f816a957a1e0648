import type { ConsoleReader } from '../readings/console-reader.ts';

/** A form that was sent. */
export interface Order {
  /** Unique to the form, however often it is sent. The browser could choose it. */
  id: string;
  /**
   * Unique to this use of the form. Made on the server, so that no sender can keep a deed out of the audit by repeating
   * an id.
   */
  request: string;
  form: URLSearchParams;
  /** Who sent it. */
  login: string;
}

/** Something that can be done by a form. */
export interface Action<Subject> {
  /** On its button and as the title of its questions; of one that does several things, by its form. */
  label: string | ((form: URLSearchParams) => string);
  /** Asked before, of what cannot be undone; null for what can. */
  question: ((subject: Subject, form: URLSearchParams) => string) | null;
  /** Acts, and says what was done. */
  run(reader: ConsoleReader, subject: Subject, order: Order): Promise<string>;
}
