import { longestName } from '../../model/deed.ts';

/** A person who is signed in. */
export interface Identity {
  /** The login at the proxy or provider; `terminal` for a person with the link from the terminal. */
  login: string;
  /** Whether the roles let them act; the configuration must allow it too. */
  operator: boolean;
  /** Whether they see the addresses that readers left. */
  contacts: boolean;
}

/** Who may look, act and see contacts (configuration `console`). */
export interface Roles {
  /** Null for everybody who is signed in. */
  viewers: readonly string[] | null;
  operators: readonly string[];
  contacts: readonly string[];
}

/** A person with the link printed on the terminal: they could use the command line as well. */
export const terminalIdentity: Identity = { login: 'terminal', operator: true, contacts: true };

/** The identity of a login with its groups; null when the roles do not let it in. */
export function identityOf(login: string, groups: readonly string[], roles: Roles): Identity | null {
  if (login === '' || login.length > longestName || /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(login)) return null;
  const is = (names: readonly string[]) => names.includes(login) || groups.some((group) => names.includes(group));
  const operator = is(roles.operators);
  const contacts = is(roles.contacts);
  const isIn = operator || contacts || roles.viewers === null || is(roles.viewers);
  return isIn ? { login, operator, contacts } : null;
}

/** Whether it is still the same person with the same roles. */
export function sameIdentity(a: Identity, b: Identity): boolean {
  return a.login === b.login && a.operator === b.operator && a.contacts === b.contacts;
}
