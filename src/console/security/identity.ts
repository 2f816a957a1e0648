import { longestName } from '../../model/deed.ts';

/** Somebody who is signed in. */
export interface Identity {
  /** As the proxy or provider has it; `terminal` for who has the link from the terminal. */
  login: string;
  /** Whether the roles let them act; the configuration must allow it too. */
  operator: boolean;
}

/** Who may look and act (configuration `console`). */
export interface Roles {
  /** Null for everybody who is signed in. */
  viewers: readonly string[] | null;
  operators: readonly string[];
}

/** Who has the link that was printed on the terminal: they could use the command line as well. */
export const terminalIdentity: Identity = { login: 'terminal', operator: true };

/** The identity of a login with its groups; null when the roles do not let it in. */
export function identityOf(login: string, groups: readonly string[], { viewers, operators }: Roles): Identity | null {
  if (login === '' || login.length > longestName || /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(login)) return null;
  const is = (names: readonly string[]) => names.includes(login) || groups.some((group) => names.includes(group));
  const operator = is(operators);
  return operator || viewers === null || is(viewers) ? { login, operator } : null;
}
