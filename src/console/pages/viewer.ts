import { randomUUID } from 'node:crypto';
import type { Session } from '../security/sessions.ts';

/** Who looks at a page, and what the page may offer them. */
export interface Viewer {
  login: string;
  /** Whether they may act. */
  mayAct: boolean;
  /** Whether they see the contacts of feedback. */
  seesContacts: boolean;
  /** Why not, for people; null when they may. */
  whyNot: string | null;
  formToken: string;
  /** What was done by the form that led here; null for nothing. */
  note: string | null;
}

/** `note` is the id under which the session remembers what was done. */
export function viewerOf({ identity, formToken, notes }: Session, write: boolean, note: string | undefined): Viewer {
  const whyNot = !write
    ? 'The console is read-only: console.write in docferry.yaml lets operators act.'
    : identity.operator
      ? null
      : 'You may look; only operators may act.';
  return {
    login: identity.login,
    mayAct: whyNot === null,
    seesContacts: identity.contacts,
    whyNot,
    formToken,
    note: note === undefined ? null : (notes.get(note) ?? null),
  };
}

/** The id of a form, by which what it asks for is done once. */
export const newFormId = (): string => randomUUID();
