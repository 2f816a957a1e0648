import { randomUUID } from 'node:crypto';
import type { Hono } from 'hono';
import { targetOfWorkflowId } from '../../rules/workflow-ids.ts';
import type { Action, Order } from '../actions/action.ts';
import { doOnce } from '../actions/action.ts';
import { budgetActions } from '../actions/budget-actions.ts';
import { bulkLabels, bulkVerbs, planBulk, runBulk, selectedIn } from '../actions/bulk-actions.ts';
import { projectActions } from '../actions/project-actions.ts';
import { scheduleActions, sessionActions } from '../actions/schedule-actions.ts';
import { siteActions } from '../actions/site-actions.ts';
import type { ConsoleApp, ConsoleContext, ConsoleEnv } from '../app-context.ts';
import { ConsoleFailure } from '../console-failure.ts';
import { KeptFormPage } from '../pages/kept-form-page.tsx';
import { BulkQuestionPage, MessagePage, QuestionPage } from '../pages/message-page.tsx';
import { projectAddress, siteAddress } from '../pages/parts.tsx';
import { SessionsPage } from '../pages/sessions-page.tsx';
import { remember, sameSecret } from '../security/sessions.ts';
import { failurePage, notFound, page, viewerIn } from './answers.tsx';

/** Every route that acts, each behind `requireOperator`. */
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
    return page(c, <SessionsPage viewer={viewer} logins={logins} />);
  });
  const sessionVerbs = sessionActions(app.sessions);
  hono.post('/sessions/:verb', (c) =>
    act(c, app, actionOf(sessionVerbs, c.req.param('verb')), c.get('form').get('login'), '/sessions'),
  );
  hono.post('/bulk', (c) =>
    orFailure(c, app, '/', async () => {
      const form = c.get('form');
      const verb = verbOf(form.get('verb'));
      const items = await planBulk(reader, verb, selectedIn(reader, form));
      const shown = { verb, label: bulkLabels[verb], viewer: viewerIn(c, app), items };
      return page(c, <BulkQuestionPage {...shown} />);
    }),
  );
  hono.post('/bulk/:verb', (c) =>
    orFailure(c, app, '/', async () => {
      const verb = verbOf(c.req.param('verb'));
      const selected = selectedIn(reader, c.get('form'));
      return done(c, app, '/', (order) => runBulk(reader, verb, selected, order));
    }),
  );
}

/** Why the actor of a form may not act, as an answer; null when they may. */
export function refusedAct(c: ConsoleContext, app: ConsoleApp): Response | Promise<Response> | null {
  const { session } = c.get('signedIn');
  const viewer = viewerIn(c, app);
  const links = [['/', 'Overview'] as const];
  if (viewer.whyNot === null) {
    const form = c.get('form');
    if (sameSecret(form.get('token') ?? '', session.formToken)) return null;
    // It came from a page of the console: that was looked at before.
    const message = 'The session in which this form was opened has ended. Nothing was done.';
    const shown = { title: 'Send it again?', message, hint: `You are ${viewer.login} now. This is what was sent:` };
    return page(c, <KeptFormPage {...shown} viewer={viewer} form={form} action={c.req.path} label="Do it now" />, 403);
  }
  const message = `Nothing was done. ${viewer.whyNot}`;
  return page(c, <MessagePage title="Not allowed" message={message} viewer={viewer} links={links} />, 403);
}

async function act<Subject>(
  c: ConsoleContext,
  app: ConsoleApp,
  action: Action<Subject> | null,
  subject: Subject | null,
  back: string,
) {
  if (action === null || subject === null) return notFound(c, app);
  const form = c.get('form');
  if (action.question !== null && form.get('sure') !== 'yes') {
    const label = typeof action.label === 'string' ? action.label : action.label(form);
    const question = action.question(subject, form);
    const shown = { title: `${label}?`, question, label, viewer: viewerIn(c, app), form, action: c.req.path, back };
    return page(c, <QuestionPage {...shown} />);
  }
  return orFailure(c, app, back, () => done(c, app, back, (order) => action.run(app.reader, subject, order)));
}

/** Does what a form orders, once, and goes back to a page that says so. */
async function done(c: ConsoleContext, app: ConsoleApp, back: string, work: (order: Order) => Promise<string>) {
  const { session } = c.get('signedIn');
  const form = c.get('form');
  const id = form.get('order') ?? '';
  if (!/^[0-9a-f-]{36}$/.test(id)) throw new ConsoleFailure('Incomplete', 'the form came without its number');
  const note = await doOnce(session, id, () =>
    work({ id, request: randomUUID(), form, login: session.identity.login }),
  );
  remember(session.notes, id, note);
  app.reader.forget();
  return c.redirect(`${back}?done=${id}`, 303);
}

async function orFailure(
  c: ConsoleContext,
  app: ConsoleApp,
  back: string,
  work: () => Promise<Response>,
): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    return failurePage(c, app, error, back);
  }
}

function actionOf<Subject>(actions: Readonly<Record<string, Action<Subject>>>, verb: string): Action<Subject> | null {
  return Object.hasOwn(actions, verb) ? (actions[verb] ?? null) : null;
}

function verbOf(text: string | null) {
  const verb = bulkVerbs.find((one) => one === text);
  if (verb === undefined) throw new ConsoleFailure('InvalidInput', 'there is nothing of that name to do');
  return verb;
}
