import type { SignedInLogin } from '../security/sessions.ts';
import { Page } from './layout.tsx';
import { Act, Foreign, TableHead, When } from './parts.tsx';
import type { Viewer } from './viewer.ts';

interface Sessions {
  viewer: Viewer;
  /** Those that the viewer may know of. */
  logins: readonly SignedInLogin[];
}

/** Who is signed in: everybody sees their own sessions; operators see all sessions and can end them. */
export function SessionsPage({ viewer, logins }: Sessions) {
  return (
    <Page title="Sessions" viewer={viewer} at="/sessions">
      <p class="under">
        A session ends after some time without a request, some time after it began, when it is signed out, and when the
        console stops.
      </p>
      <form method="post" action="/sign-out" class="act bulk">
        <input type="hidden" name="token" value={viewer.formToken} />
        <input type="hidden" name="everywhere" value="yes" />
        <button type="submit">Sign me out everywhere</button>
      </form>
      <div class="scroll">
        <table class="cards">
          <caption class="unseen">Who is signed in, the last seen first</caption>
          <TableHead columns={['login', 'sessions', 'since', 'last seen']} acts={viewer.mayAct} />
          <tbody>
            {logins.map(({ login, sessions, beganAt, seenAt }) => (
              <tr>
                <th scope="row">
                  <Foreign text={login} />
                </th>
                <td data-name="sessions">{sessions}</td>
                <td data-name="since">
                  <When at={beganAt} />
                </td>
                <td data-name="last seen">
                  <When at={seenAt} />
                </td>
                {viewer.mayAct && (
                  <td data-name="">
                    <Act viewer={viewer} action="/sessions/end" label="End sessions …" fields={{ login }} small />
                  </td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Page>
  );
}
