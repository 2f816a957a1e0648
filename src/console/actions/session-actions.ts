import type { Sessions } from '../security/sessions.ts';
import type { Action } from './action.ts';
import { audited } from './audited.ts';
import { ConsoleFailure } from '../console-failure.ts';

/** What can be done with the sessions of a login. */
export function sessionActions(sessions: Sessions): Readonly<Record<string, Action<string>>> {
  return {
    end: {
      label: 'End sessions',
      question: (login) => `Everybody who is signed in as ${login} has to sign in again; what was begun is done.`,
      async run(reader, login, order) {
        const count = sessions.revoke(login);
        if (count === 0) throw new ConsoleFailure('NotSignedIn', `nobody is signed in as ${login} any more`);
        const deed = {
          deedId: `${order.request}/end-sessions`,
          action: 'end-sessions' as const,
          org: null,
          subject: login,
          workflowId: null,
          detail: { sessions: count },
        };
        return audited(
          reader,
          order,
          [deed],
          `${count === 1 ? 'The session' : `${count} sessions`} of ${login} ended.`,
        );
      },
    },
  };
}
