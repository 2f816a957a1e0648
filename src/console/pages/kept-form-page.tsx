import { visible } from '../../feedback/report/figure.ts';
import { Page } from './layout.tsx';
import { Facts, Foreign } from './parts.tsx';
import type { Viewer } from './viewer.ts';

interface KeptForm {
  title: string;
  message: string;
  hint: string;
  /** Null for a visitor who is not signed in: the console keeps what they send next, too. */
  viewer: Viewer | null;
  links?: readonly (readonly [string, string])[];
  /** What was sent, and where to. */
  form: URLSearchParams;
  action: string;
  label: string;
}

/** Of a session, and answers to questions, which are asked again. */
const notKept: ReadonlySet<string> = new Set(['token', 'sure']);
const notShown: ReadonlySet<string> = new Set(['order', 'run']);
const mostShown = 20;

/** What a form held that was not followed, so that it can be sent again. */
export function KeptFormPage({ title, message, hint, viewer, links = [], form, action: sentTo, label }: KeptForm) {
  // Two slashes would lead to another site.
  const action = sentTo.replace(/^\/+/, '/');
  const kept = [...form].filter(([name]) => !notKept.has(name));
  const shown = kept.filter(([name, value]) => !notShown.has(name) && value !== '').slice(0, mostShown);
  return (
    <Page title={title} viewer={viewer}>
      <div class="narrow">
        <p>{visible(message)}</p>
        <p class="under">{visible(hint)}</p>
        {links.length > 0 && (
          <ul class="chips">
            {links.map(([address, text]) => (
              <li>
                {/* In another tab, so that this page stays. */}
                <a href={address} target="_blank" rel="noopener">
                  {text}
                </a>
              </li>
            ))}
          </ul>
        )}
        <Facts facts={[['what', <Foreign text={whatOf(action)} />], ...shown.map(factOf)]} />
        <form method="post" action={action} class="act bulk">
          {viewer !== null && <input type="hidden" name="token" value={viewer.formToken} />}
          {kept.map(([name, value]) => (
            <input type="hidden" name={name} value={value} />
          ))}
          <button type="submit" class="first">
            {label}
          </button>
        </form>
      </div>
    </Page>
  );
}

/** `rollback: acme, docs.acme.example`, of an address such as `/sites/acme/docs.acme.example/rollback`. */
function whatOf(action: string): string {
  const [room = '', ...parts] = action.split('/').slice(1).map(decoded);
  const verb = (parts.pop() ?? room).replaceAll('-', ' ');
  return parts.length === 0 ? verb : `${verb}: ${parts.join(', ')}`;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const factOf = ([name, value]: [string, string]) => [visible(name), <Foreign text={value.slice(0, 2_000)} />] as const;
