import { visible } from '../../feedback/report/figure.ts';
import type { ActionFact } from '../actions.ts';
import { Page } from './layout.tsx';
import { Chips, Facts, Foreign, Hidden, HiddenFields, Reason, sentence, Table, Token } from './parts.tsx';

interface Message {
  title: string;
  message: string;
  hint?: string | null;
  /** Where to continue, and what that is. */
  links?: readonly (readonly [string, string])[];
}

/** What happened, and what to do. */
export function MessagePage({ title, message, hint = null, links = [] }: Message) {
  return (
    <Page title={title}>
      <div class="narrow">
        <p>{sentence(message)}</p>
        {hint !== null && <p class="under">{sentence(hint)}</p>}
        <Chips label="Go on" links={links.map(([href, text]) => ({ href, text }))} />
      </div>
    </Page>
  );
}

interface Question {
  title: string;
  question: string;
  facts: readonly ActionFact[];
  label: string;
  /** What the form that asked held, its order included: the answer is the same order. */
  form: URLSearchParams;
  action: string;
  back: string;
}

/** Asks once before what cannot be undone. */
export function QuestionPage({ title, question, facts, label, form, action, back }: Question) {
  const kept = [...form].filter(([name]) => !notKept.has(name));
  const reason = form.get('reason')?.trim() ?? '';
  const shown: readonly ActionFact[] = [...facts, ...(reason === '' ? [] : [['why', reason] as const])];
  return (
    <Page title={title}>
      <div class="narrow">
        <p class="under">{visible(question)}</p>
        {shown.length > 0 && <Facts facts={shown.map(([name, value]) => [name, <Foreign text={value} />])} />}
        <form method="post" action={action} class="act">
          {!form.has('reason') && <Reason id="reason" label="Why" />}
          <Token />
          <HiddenFields fields={[['sure', 'yes'], ...kept]} />
          <button type="submit" class="first">
            {label}
          </button>
          <a class="button" href={back}>
            Back
          </a>
        </form>
      </div>
    </Page>
  );
}

interface BulkQuestion {
  verb: string;
  label: string;
  withReason?: boolean;
  items: readonly { name: string; field: { name: string; value: string }; detail: string; skipped: boolean }[];
  back: string;
}

/** What would be done with each that was selected. */
export function BulkQuestionPage({ verb, label, withReason = false, items, back }: BulkQuestion) {
  const planned = items.filter(({ skipped }) => !skipped);
  return (
    <Page title={planned.length === 0 ? `${label}: nothing to do` : `${label} ${planned.length} of ${items.length}?`}>
      <Table
        caption="What happens"
        rows={items}
        columns={[
          ['name', ({ name }) => <Foreign text={name} />],
          [
            'what happens',
            ({ skipped, detail }) => (
              <span class={skipped ? 'quiet' : undefined}>{`${skipped ? 'skipped: ' : ''}${visible(detail)}`}</span>
            ),
          ],
        ]}
      />
      <form method="post" action={`/bulk/${verb}`} class="act bulk">
        <Hidden />
        <HiddenFields fields={[['sure', 'yes'], ...planned.map(({ field }) => [field.name, field.value] as const)]} />
        {withReason && planned.length > 0 && <Reason id="reason" label="Why" />}
        {planned.length > 0 && (
          <button type="submit" class="first">
            {label}
          </button>
        )}
        <a class="button" href={back}>
          Back
        </a>
      </form>
    </Page>
  );
}

interface KeptForm {
  title: string;
  message: string;
  hint: string;
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
export function KeptFormPage({ title, message, hint, links = [], form, action, label }: KeptForm) {
  const kept = [...form].filter(([name]) => !notKept.has(name));
  const shown = kept.filter(([name, value]) => !notShown.has(name) && value !== '').slice(0, mostShown);
  return (
    <Page title={title}>
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
          <Token />
          <HiddenFields fields={kept} />
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
