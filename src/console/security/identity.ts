import { isReservedName, longestName, terminalName } from '../../runs/rules/audit.ts';

/** A person who is signed in. */
export interface Identity {
  /** The login at the proxy or provider; `terminal` for a person with the link from the terminal. */
  login: string;
  /** Whether the roles let them act; the configuration must allow it too. */
  operator: boolean;
  /** Whether they see the addresses that readers left. */
  contacts: boolean;
}

/** People by their groups and logins, kept apart: a login must not gain what a group of the same name may do. */
export interface Names {
  groups: readonly string[];
  logins: readonly string[];
}

/** Who may look, act and see contacts (configuration `console`). */
export interface Roles {
  /** Null for everybody who is signed in. */
  viewers: Names | null;
  operators: Names;
  contacts: Names;
}

/** A person with the link printed on the terminal: they could use the command line as well. */
export const terminalIdentity: Identity = { login: terminalName, operator: true, contacts: true };

/** The identity of a login with its groups; null when the roles do not let it in, or the audit could not name it. */
export function identityOf(login: string, groups: readonly string[], roles: Roles): Identity | null {
  if (login === '' || login.length > longestName || isReservedName(login)) return null;
  if (/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(login)) return null;
  const is = (names: Names) => names.logins.includes(login) || groups.some((group) => names.groups.includes(group));
  const operator = is(roles.operators);
  const contacts = is(roles.contacts);
  const isIn = operator || contacts || roles.viewers === null || is(roles.viewers);
  return isIn ? { login, operator, contacts } : null;
}

/** Whether it is still the same person with the same roles. */
export function sameIdentity(a: Identity, b: Identity): boolean {
  return a.login === b.login && a.operator === b.operator && a.contacts === b.contacts;
}
