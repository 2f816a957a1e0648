import { createHmac } from 'node:crypto';
import { Webhook as Signature } from 'standardwebhooks';
import { Agent, ProxyAgent, request } from '../http-client.ts';
import { ProxyFailed, proxyFor } from '../rules/proxy.ts';
import { counted, pagePath, spanText, withoutEnd } from '../rules/text.ts';
import { projectAddress, siteAddress } from '../rules/workflow-ids.ts';
import type { Notice, NoticeState, NoticeType } from './rules/notices.ts';
import type {
  EntriesSent,
  EntryFilter,
  ExportFinished,
  FeedbackRefreshed,
  PassFinished,
  WebhookEventType,
  WebhookFormat,
  WebhookMessage,
  WeekSent,
} from './rules/webhook-event.ts';

/** A configured receiver of messages. Address and secret are read when used, and never shown. */
export interface Webhook {
  /** Unique within the organization. */
  name: string;
  format: WebhookFormat;
  events: readonly WebhookEventType[];
  /** Which entries `feedback.entries` sends it. */
  entries?: EntryFilter | undefined;
  /** When it gets its weekly digest, in milliseconds since Monday 0:00 UTC; null for never. */
  digestMs?: number | null;
  /** An address may hold a token: it is as secret as the key. */
  url(): string;
  /** `whsec_…`; null for formats that are not signed. */
  secret(): string | null;
  /** Address of the console, for links; null for none. */
  console?: string | null;
}

/**
 * Distinguishes the settings of webhooks without revealing address or secret. Throws what reading them throws.
 */
export function settingsMark({ format, url, secret }: Pick<Webhook, 'format' | 'url' | 'secret'>): string {
  const address = url();
  return createHmac('sha256', secret() ?? address)
    .update(`${format} ${address}`)
    .digest('hex')
    .slice(0, 16);
}

const connectTimeoutMs = 10_000;
const answerTimeoutMs = 20_000;
/** Bytes of an answer's body that are read, to free its connection, and thrown away. */
const drainedBytes = 64 * 1024;

/** A receiver's answer: its status, and the `Retry-After` header if it sent one. */
export interface WebhookAnswer {
  status: number;
  retryAfter: string | null;
}

/** No answer came. The message says why in a word, never the address. */
export class WebhookUnreachable extends Error {
  override readonly name = 'WebhookUnreachable';
}

/**
 * Sends a message once. With a secret it is signed by Standard Webhooks (headers `webhook-id`, `webhook-timestamp`,
 * `webhook-signature`): the timestamp is that of the attempt, since receivers refuse old ones; the id stays. Redirects are
 * not followed. Throws `WebhookUnreachable`, and what reading the address and the secret throws.
 */
export async function sendWebhook(
  webhook: Pick<Webhook, 'url' | 'secret'>,
  { messageId, body }: { messageId: string; body: string },
  signal?: AbortSignal,
): Promise<WebhookAnswer> {
  const [url, secret] = [webhook.url(), webhook.secret()];
  const signature = secret === null ? {} : signatureHeaders(secret, messageId, body);
  const dispatcher = dispatcherFor(new URL(url));
  const timeout = AbortSignal.timeout(answerTimeoutMs);
  try {
    const answer = await request(url, {
      method: 'POST',
      dispatcher,
      body,
      headers: { 'content-type': 'application/json', ...signature },
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
    await answer.body.dump({ limit: drainedBytes }).catch(() => undefined);
    const retryAfter = answer.headers['retry-after'];
    return { status: answer.statusCode, retryAfter: typeof retryAfter === 'string' ? retryAfter : null };
  } catch (error) {
    throw new WebhookUnreachable(timeout.aborted ? `no answer within ${answerTimeoutMs / 1_000} s` : codeOf(error));
  } finally {
    await dispatcher.destroy();
  }
}

function dispatcherFor(url: URL): Agent | ProxyAgent {
  const options = { connect: { timeout: connectTimeoutMs } };
  try {
    const proxy = proxyFor(url, process.env);
    return proxy === null ? new Agent(options) : new ProxyAgent({ uri: proxy.href, ...options });
  } catch (error) {
    if (error instanceof ProxyFailed) throw new WebhookUnreachable(error.message);
    throw error;
  }
}

function signatureHeaders(secret: string, messageId: string, body: string): Record<string, string> {
  const now = new Date();
  return {
    'webhook-id': messageId,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
    'webhook-signature': new Signature(secret).sign(messageId, now, body),
  };
}

/** E.g. `ECONNREFUSED`. Messages of errors name addresses, so they are left out. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'UND_ERR_SOCKET') return 'the connection was cut';
  return /^[A-Z_]{3,60}$/.test(code) ? code : 'the connection failed';
}

/** An event as a person reads it in a chat. Plain text: each format escapes it. */
interface EventWords {
  /** `bad`: a person must act; `ask`: a decision waits, or it may pass; `ok`: it went well or is over; `note`: no more. */
  tone: 'ok' | 'bad' | 'ask' | 'note';
  title: string;
  /** Why; null where the title says it. */
  reason: string | null;
  facts: [name: string, value: string][];
  command: string | null;
}

type Words = Partial<Record<NoticeState, string>>;

/** The words about a subject. */
const noticeWords: Record<NoticeType, Words> = {
  'approval.wanted': { begun: 'a version waits for approval', ended: 'no version waits for approval now' },
  'approval.expiring': { begun: 'a version will soon count as rejected' },
  'export.failed': { begun: 'the export failed', ended: 'the export works again' },
  'export.refused': { begun: 'the exported bundle was refused', ended: 'the exported bundle was accepted again' },
  'export.late': { begun: 'the export is late', ended: 'the export is no longer late' },
  'rollout.failed': { begun: 'the rollout failed', ended: 'the rollout works again' },
  'rollout.drifted': {
    begun: 'a target runs another version than was rolled out',
    ended: 'the targets run what was rolled out',
  },
  'site.rolled-back': { happened: 'rolled back' },
  'site.held': { begun: 'held: exports put nothing into service', ended: 'the hold was released' },
  'pass.failed': { begun: 'the pass failed', ended: 'the pass works again' },
  'feedback.missing': { happened: 'many entries are missing from the service' },
  'feedback.stale': { begun: 'the feedback is stale', ended: 'the feedback is fresh again' },
  'key.refused': { begun: 'the service refuses the API key', ended: 'the service accepts the API key again' },
  'budget.starved': { begun: 'requests wait too long for the budget', ended: 'the budget grants requests again' },
  'webhook.gone': { begun: 'a webhook is gone', ended: 'a webhook is used again' },
};

/** Neither is red: what a person decides, or what the next reading may mend, and what a person did. */
const tones: Partial<Record<NoticeType, EventWords['tone']>> = {
  'approval.wanted': 'ask',
  'approval.expiring': 'ask',
  'pass.failed': 'ask',
  'feedback.missing': 'ask',
  'budget.starved': 'ask',
  'site.held': 'note',
  'site.rolled-back': 'note',
};

/** Says in words what happened. */
export function eventWords(event: WebhookMessage): EventWords {
  if (event.type === 'export.finished') return exportWords(event.data);
  if (event.type === 'feedback.pass.finished') return passWords(event.data);
  if (event.type === 'feedback.refreshed') return refreshWords(event.data);
  if (event.type === 'feedback.entries') return entriesWords(event.data);
  if (event.type === 'digest') return digestWords(event.data);
  return wordsOf(event.type, event.data, event.timestamp);
}

function wordsOf(type: NoticeType, notice: Notice, timestamp: string): EventWords {
  const { org, subject, state, since, reason, command, facts, others, decided } = notice;
  const lasted = Date.parse(timestamp) - Date.parse(since);
  const about = subject === org ? org : `${subject}${andOthers(others?.count ?? 0)} (${org})`;
  return {
    tone: state === 'ended' ? 'ok' : (tones[type] ?? 'bad'),
    title: `${about}: ${noticeWords[type][state] ?? `${type} ${state}`}`,
    reason,
    facts: [
      ['event', `${type}, ${state}`],
      ...(state === 'ended' ? [['lasted', spanText(lasted)] as [string, string]] : []),
      ...(decided ? [['by', decided.who] as [string, string]] : []),
      ...(decided?.why ? [['why', decided.why] as [string, string]] : []),
      ...Object.entries(facts).map(([name, value]): [string, string] => [spaced(name), String(value)]),
      ...(others ? [['also', othersText(others)] as [string, string]] : []),
    ],
    command,
  };
}

const andOthers = (count: number) => (count > 0 ? ` and ${counted(count, 'other')}` : '');

function othersText({ count, named }: NonNullable<Notice['others']>): string {
  const lines = named.map(({ subject, reason }) => (reason === null ? subject : `${subject}: ${reason}`));
  const left = count - named.length;
  return [...lines, ...(left > 0 ? [`and ${left} more`] : [])].join('\n');
}

function exportWords({ org, domain, outcome, version, url, held }: ExportFinished): EventWords {
  const facts: [string, string | null][] = [
    ['version', version],
    ['address', url],
    ['held at', held],
  ];
  return {
    tone: outcome === 'published' || outcome === 'unchanged' ? 'ok' : 'note',
    title: `${domain} (${org}): the export ended: ${outcome}`,
    reason: null,
    facts: facts.filter((fact): fact is [string, string] => fact[1] !== null),
    command: outcome === 'published' || outcome === 'unchanged' ? null : `docferry export status ${domain}`,
  };
}

function passWords({ org, project, pass, outcome, pages, entries }: PassFinished): EventWords {
  return {
    tone: outcome === 'completed' ? 'ok' : 'note',
    title: `${project} (${org}): the ${pass} pass ended: ${outcome}`,
    reason: null,
    facts: [
      ['pages', counted(pages, 'page')],
      ['entries', `${entries.seen} seen, ${entries.inserted} new, ${entries.updated} changed`],
    ],
    command: outcome === 'completed' ? null : `docferry feedback status ${project}`,
  };
}

function refreshWords({ org, projects, others }: FeedbackRefreshed): EventWords {
  const sum = (name: 'inserted' | 'updated' | 'tombstoned') =>
    projects.reduce((total, found) => total + found[name], 0);
  const counts = `${sum('inserted')} new, ${sum('updated')} changed, ${sum('tombstoned')} gone`;
  return {
    tone: 'ok',
    title: `${org}: feedback has changed in ${counted(projects.length + others, 'project')}`,
    reason: null,
    facts: [['entries', others === 0 ? counts : `${counts}, and more in ${counted(others, 'project')}`]],
    command: null,
  };
}

function entriesWords({ org, project, entries }: EntriesSent): EventWords {
  const said = entries.map(({ path, comment, status, deletedAt }): [string, string] => [
    pagePath(path),
    `${comment ?? 'no comment'} (${deletedAt === null ? status : 'gone'})`,
  ]);
  return {
    tone: 'note',
    title: `${project} (${org}): ${counted(entries.length, 'entry', 'entries')} new or changed`,
    reason: null,
    facts: shortened(said),
    command: null,
  };
}

const namedSites = 5;

function digestWords({ org, from, to, comments, worstPages, released, waiting }: WeekSent): EventWords {
  const versions = released.map((site) => `${site.domain}: ${counted(site.versions, 'version')}`);
  const types = [...new Set(waiting.map(({ type }) => type))];
  const matters = types.map((type) => {
    const [first = '', ...others] = waiting.flatMap((one) => (one.type === type ? [one.subject] : []));
    return `${first}${andOthers(others.length)}: ${noticeWords[type].begun ?? type}`;
  });
  const facts: [string, string][] = [
    ['released', `${versions.slice(0, namedSites).join(', ') || 'nothing'}${andOthers(versions.length - namedSites)}`],
    ['waits', matters.join(', ') || 'nothing'],
    ...worstPages.map(({ project, path, notHelpful }): [string, string] => [
      `${project}: ${pagePath(path)}`,
      `not helpful: ${counted(notHelpful, 'time')}`,
    ]),
    ...comments.newest.map(({ project, path, comment }): [string, string] => [
      `${project}: ${pagePath(path)}`,
      comment,
    ]),
  ];
  return {
    tone: waiting.length > 0 ? 'ask' : 'ok',
    title: `${org}: the week from ${from.slice(0, 10)} to ${to.slice(0, 10)}`,
    reason: `${counted(comments.count, 'new comment')}; ${counted(matters.length, 'matter')} for a person`,
    facts: shortened(facts),
    command: null,
  };
}

/** The first facts, each short enough for a chat, and how many more there are. */
function shortened(facts: readonly [string, string][]): [string, string][] {
  const most = limits.fields - 1;
  const shown = facts.slice(0, most).map(([name, value]): [string, string] => [cut(name, 100), cut(value, 280)]);
  return facts.length > most ? [...shown, ['more', `${facts.length - most}`]] : shown;
}

/** `pagesAdded` as `pages added`. */
const spaced = (name: string) => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** Slack's limits, in characters. */
const limits = { header: 150, section: 3_000, field: 2_000, fields: 10 };

const signs: Record<EventWords['tone'], string> = { ok: '✅', bad: '🔴', ask: '🟡', note: '🔵' };

/** A Slack message: `text` for notifications, `blocks` for the channel. Foreign text mentions nobody, links nowhere. */
function slackMessage(words: EventWords, page: string | null): object {
  const { tone, title, reason, facts, command } = words;
  const headline = `${signs[tone]} ${title}`;
  const fields = facts
    .slice(0, limits.fields)
    .map(([name, value]) => mrkdwn(`*${slackSafe(name)}*\n${slackSafe(value)}`, limits.field));
  return {
    text: cut(slackSafe(headline), limits.section),
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: cut(headline, limits.header), emoji: true } },
      ...(reason === null ? [] : [section(slackSafe(reason))]),
      ...(fields.length === 0 ? [] : [{ type: 'section', fields }]),
      ...(command === null ? [] : [section(`\`${slackSafe(command).replaceAll('`', "'")}\``)]),
      ...(page === null ? [] : [section(`<${page}|Open in the console>`)]),
    ],
  };
}

// Verbatim: no address in a reason becomes a link.
const mrkdwn = (text: string, longest: number) => ({ type: 'mrkdwn', text: cut(text, longest), verbatim: true });

const section = (text: string) => ({ type: 'section', text: mrkdwn(text, limits.section) });

/** The three characters with a meaning of their own, as Slack asks for; marks of emphasis are shown as they are. */
function slackSafe(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** By whole characters, and by none of Slack's entities in halves. */
function cut(text: string, longest: number): string {
  if (text.length <= longest) return text;
  return `${text.slice(0, longest - 1).replace(/[\ud800-\udbff]$|&[a-z]{0,3}$/u, '')}…`;
}

const colors: Record<EventWords['tone'], string> = { ok: 'Good', bad: 'Attention', ask: 'Warning', note: 'Accent' };

/** A message for a Teams workflow "when a webhook request is received": one Adaptive Card. */
function teamsMessage({ tone, title, reason, facts, command }: EventWords, page: string | null): object {
  const text = (value: string, more: object = {}) => ({
    type: 'TextBlock',
    text: teamsSafe(value),
    wrap: true,
    ...more,
  });
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body: [
            text(title, { size: 'Medium', weight: 'Bolder', color: colors[tone] }),
            ...(reason === null ? [] : [text(reason)]),
            ...(facts.length === 0
              ? []
              : [
                  {
                    type: 'FactSet',
                    facts: facts.map(([name, value]) => ({ title: teamsSafe(name), value: teamsSafe(value) })),
                  },
                ]),
            ...(command === null ? [] : [text(command, { fontType: 'Monospace' })]),
            ...(page === null ? [] : [{ type: 'TextBlock', text: `[Open in the console](${page})`, wrap: true }]),
          ],
        },
      },
    ],
  };
}

/** Cards read Markdown: what begins a link or emphasis is shown as it is. Underscores are left, since ids have them. */
function teamsSafe(text: string): string {
  return text.replace(/[\\*[\]`]/g, '\\$&');
}

/** Path of the console's page about an event. */
function pageOf(event: WebhookMessage): string {
  if (event.type === 'feedback.entries') return projectAddress(event.data.org, event.data.project);
  if (event.type === 'digest') return '/';
  if (event.type === 'export.finished') return siteAddress(event.data.org, event.data.domain);
  if (event.type === 'feedback.pass.finished') return projectAddress(event.data.org, event.data.project);
  if (event.type === 'feedback.refreshed') return '/budget';
  const { org, subject, others } = event.data;
  if (subject === org) return '/budget';
  if (event.type === 'webhook.gone') return '/';
  if (others) return `/?${new URLSearchParams({ org })}`;
  const [project = ''] = subject.split('/');
  const ofProject = event.type === 'pass.failed' || event.type.startsWith('feedback.');
  return ofProject ? projectAddress(org, project) : siteAddress(org, subject);
}

/**
 * The body of a message: the same for every attempt.
 *
 * @param console address of the console, to which the message then links
 */
export function messageBody(event: WebhookMessage, format: WebhookFormat, console: string | null = null): string {
  const page = console === null ? null : `${withoutEnd(console, '/')}${pageOf(event).replaceAll(')', '%29')}`;
  if (format === 'slack') return JSON.stringify(slackMessage(eventWords(event), page));
  if (format === 'teams') return JSON.stringify(teamsMessage(eventWords(event), page));
  return JSON.stringify(page === null ? event : { ...event, data: { ...event.data, page } });
}
