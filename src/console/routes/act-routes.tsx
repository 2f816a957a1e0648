import type { Hono } from 'hono';
import { Operator } from '../../operations/operator.ts';
import { targetOfWorkflowId } from '../../rules/workflow-ids.ts';
import {
  type Action,
  budgetActions,
  bulkVerbs,
  bulkWords,
  type FormSubmission,
  planBulk,
  projectActions,
  runBulk,
  scheduleActions,
  selectedIn,
  sessionActions,
  siteActions,
} from '../actions.ts';
import type { ConsoleApp, ConsoleContext, ConsoleEnv } from '../app-context.ts';
import { ConsoleFailure, reasonIn } from '../console-failure.ts';
import { Page } from '../pages/layout.tsx';
import { BulkQuestionPage, KeptFormPage, MessagePage, QuestionPage } from '../pages/message-page.tsx';
import {
  Act,
  Foreign,
  HiddenFields,
  projectAddress,
  siteAddress,
  Table,
  Token,
  useMayAct,
  When,
} from '../pages/parts.tsx';
import { remember, type Session, type SignedInLogin, sameSecret } from '../security/sessions.ts';
import { notFound, orFailure, page, pathOf, viewerIn } from './answers.tsx';

/** Every route that acts; each asks whether the person is an operator. */
export function addActRoutes(hono: Hono<ConsoleEnv>, app: ConsoleApp): void {
  const { reader } = app;
  hono.post('/sites/:org/:domain/:verb', (c) => {
    const { org, domain, verb } = c.req.param();
    const back = siteAddress(org, domain);
    return act(c, app, actionOf(siteActions, verb), reader.knownSite(org, domain), back);
  });
  hono.post('/projects/:org/:project/:verb', (c) => {
    const { org, project, verb } = c.req.param();
    const back = projectAddress(org, project);
    return act(c, app, actionOf(projectActions, verb), reader.knownProject(org, project), back);
  });
  hono.post('/budget/:org/:verb', (c) => {
    const { org, verb } = c.req.param();
    const known = reader.setting.organizations.some(({ id }) => id === org) ? org : null;
    return act(c, app, actionOf(budgetActions, verb), known, '/budget');
  });
  hono.post('/schedules/:verb', (c) => {
    const target = targetOfWorkflowId(c.get('form').get('schedule') ?? '');
    const known = target !== null && reader.knows(target) ? target : null;
    return act(c, app, actionOf(scheduleActions, c.req.param('verb')), known, '/schedules');
  });
  hono.get('/sessions', (c) => {
    const viewer = viewerIn(c, app);
    const logins = app.sessions.logins().filter(({ login }) => viewer.mayAct || login === viewer.login);
    return page(c, app, <SessionsPage logins={logins} />);
  });
  const sessionVerbs = sessionActions(app.sessions);
  hono.post('/sessions/:verb', (c) =>
    act(c, app, actionOf(sessionVerbs, c.req.param('verb')), c.get('form').get('login'), '/sessions'),
  );
  hono.post('/bulk', (c) =>
    orFailure(c, app, '/', async () => {
      const form = c.get('form');
      const verb = verbOf(form.get('verb'));
      const selected = selectedIn(reader, form);
      const items = await planBulk(reader, verb, selected);
      const shown = { verb, ...bulkWords[verb], items, back: pageOf(selected) };
      return page(c, app, <BulkQuestionPage {...shown} />);
    }),
  );
  hono.post('/bulk/:verb', (c) =>
    orFailure(c, app, '/', async () => {
      const verb = verbOf(c.req.param('verb'));
      const selected = selectedIn(reader, c.get('form'));
      return done(c, app, pageOf(selected), (submission) => runBulk(verb, selected, submission), { bulk: true });
    }),
  );
}

/** The page to return to. */
const pageOf = ([first]: ReturnType<typeof selectedIn>): string => (first?.kind === 'schedule' ? '/schedules' : '/');

/** Why the actor of a form may not act, as an answer; null when they may. */
export function refusedAct(c: ConsoleContext, app: ConsoleApp): Response | Promise<Response> | null {
  const { session } = c.get('signedIn');
  const viewer = viewerIn(c, app);
  if (viewer.whyNot === null) {
    const form = c.get('form');
    if (sameSecret(form.get('token') ?? '', session.formToken)) return null;
    // It came from a page of the console: that was looked at before.
    const message = 'The session in which this form was opened has ended. Nothing was done.';
    const shown = { title: 'Send it again?', message, hint: `You are ${viewer.login} now. This is what was sent:` };
    const content = <KeptFormPage {...shown} form={form} action={pathOf(c)} label="Do it now" />;
    return page(c, app, content, { status: 403 });
  }
  const message = `Nothing was done. ${viewer.whyNot}`;
  const content = <MessagePage title="Not allowed" message={message} links={[['/', 'Overview']]} />;
  return page(c, app, content, { status: 403 });
}

async function act<Subject>(
  c: ConsoleContext,
  app: ConsoleApp,
  action: Action<Subject> | null,
  subject: Subject | null,
  back: string,
) {
  if (action === null || subject === null) return notFound(c, app);
  const { question } = action;
  return orFailure(c, app, back, async () => {
    const form = c.get('form');
    if (question === undefined || form.get('sure') === 'yes') {
      return done(c, app, back, (submission) => action.run(subject, submission));
    }
    const label = typeof action.label === 'string' ? action.label : action.label(form);
    const facts = (await action.facts?.(subject, form, app.reader.installation)) ?? [];
    const shown = { title: `${label}?`, facts, label, form, action: pathOf(c), back };
    return page(c, app, <QuestionPage {...shown} question={question(subject, form)} />);
  });
}

/** Does what a form asks for, once, and goes back to a page that says so. */
async function done(
  c: ConsoleContext,
  { reader }: ConsoleApp,
  back: string,
  work: (submission: FormSubmission) => Promise<string>,
  { bulk = false } = {},
) {
  const { session } = c.get('signedIn');
  const form = c.get('form');
  const id = form.get('order') ?? '';
  if (!/^[0-9a-f-]{36}$/.test(id)) throw new ConsoleFailure('Incomplete', 'the form has no number');
  const note = await once(session, id, async () => {
    const actor = { who: session.identity.login, reason: reasonIn(form) };
    const operator = new Operator(reader.installation, actor, { bulk });
    const { explain } = reader.setting;
    const [said] = await Promise.allSettled([work({ id, form, operator, explain })]);
    const lacking = await operator.end();
    if (said.status === 'rejected') throw said.reason;
    return lacking === null
      ? said.value
      : `${said.value} The audit will not show it: ${explain(lacking.error).message}`;
  });
  remember(session.notes, id, note);
  reader.forget();
  return c.redirect(`${back}?done=${id}`, 303);
}

/**
 * Does the work of a form once, however often it is sent: a second sending waits for the first and gets its answer. After a
 * failure it may be sent again.
 */
function once({ done }: Session, id: string, work: () => Promise<string>): Promise<string> {
  const before = done.get(id);
  if (before !== undefined) return before;
  const answer = work();
  remember(done, id, answer);
  answer.catch(() => done.delete(id));
  return answer;
}

function actionOf<Subject>(actions: Readonly<Record<string, Action<Subject>>>, verb: string): Action<Subject> | null {
  return Object.hasOwn(actions, verb) ? (actions[verb] ?? null) : null;
}

function verbOf(text: string | null) {
  const verb = bulkVerbs.find((one) => one === text);
  if (verb === undefined) throw new ConsoleFailure('InvalidInput', 'unknown action');
  return verb;
}

/** Who is signed in: everybody sees their own sessions; operators see all sessions and can end them. */
function SessionsPage({ logins }: { logins: readonly SignedInLogin[] }) {
  return (
    <Page title="Sessions" at="/sessions">
      <p class="under">
        A session ends after some time without a request, some time after it began, when it is signed out, and when the
        console stops.
      </p>
      <form method="post" action="/sign-out" class="act bulk">
        <Token />
        <HiddenFields fields={[['everywhere', 'yes']]} />
        <button type="submit">Sign me out everywhere</button>
      </form>
      <Table
        caption="Who is signed in, the last seen first"
        rows={logins}
        columns={[
          ['login', ({ login }) => <Foreign text={login} />],
          ['sessions', ({ sessions }) => sessions],
          ['since', ({ beganAt }) => <When at={beganAt} />],
          ['last seen', ({ seenAt }) => <When at={seenAt} />],
          useMayAct() && [
            '',
            ({ login }) => <Act action="/sessions/end" label="End sessions …" fields={{ login }} small />,
          ],
        ]}
      />
    </Page>
  );
}
