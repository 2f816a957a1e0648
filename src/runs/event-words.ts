import { spanText } from '../rules/details-text.ts';
import type { Notice, NoticeState, NoticeType } from './rules/notice.ts';
import { counted } from '../rules/quantities.ts';
import type { ExportFinished, PassFinished, WebhookEvent } from './rules/webhook-event.ts';

/** An event as a person reads it in a chat. Plain text: each format escapes it. */
export interface EventWords {
  /** `ok` for what went well or is over, `bad` for what failed, `ask` for what waits for a person. */
  tone: 'ok' | 'bad' | 'ask';
  title: string;
  /** Why; null where the title says it. */
  reason: string | null;
  facts: [name: string, value: string][];
  command: string | null;
}

type Words = Partial<Record<NoticeState, string>>;

/** The words about a subject. */
const noticeWords: Record<NoticeType, Words> = {
  'approval.wanted': { begun: 'a version waits for approval', ended: 'no version waits for approval any more' },
  'approval.expiring': { begun: 'a version will soon count as rejected' },
  'export.failed': { begun: 'the export failed', ended: 'the export works again' },
  'export.refused': { begun: 'the exported bundle was refused', ended: 'the exported bundle was accepted again' },
  'export.late': { begun: 'the export is late', ended: 'the export is no longer late' },
  'rollout.failed': { begun: 'the rollout failed', ended: 'the rollout works again' },
  'rollout.taken-back': { begun: 'a rollout was taken back', ended: 'the targets run what was rolled out' },
  'site.rolled-back': { happened: 'rolled back' },
  'site.held': { begun: 'held: exports put nothing into service', ended: 'the hold was released' },
  'pass.failed': { begun: 'the pass failed', ended: 'the pass works again' },
  'feedback.stale': { begun: 'the feedback is stale', ended: 'the feedback is fresh again' },
  'key.refused': { begun: 'the service refuses the API key', ended: 'the service accepts the API key again' },
  'budget.starved': { begun: 'requests wait too long for the budget', ended: 'the budget grants requests again' },
  'webhook.gone': { begun: 'a webhook is gone', ended: 'a webhook is used again' },
};

const asking: ReadonlySet<NoticeType> = new Set(['approval.wanted', 'approval.expiring']);

/** Says in words what happened. */
export function eventWords(event: WebhookEvent): EventWords {
  if (event.type === 'export.finished') return exportWords(event.data);
  if (event.type === 'feedback.pass.finished') return passWords(event.data);
  return wordsOf(event.type, event.data, event.timestamp);
}

function wordsOf(type: NoticeType, notice: Notice, timestamp: string): EventWords {
  const { org, subject, state, since, reason, command, facts } = notice;
  const lasted = Date.parse(timestamp) - Date.parse(since);
  const about = subject === org ? org : `${subject} (${org})`;
  return {
    tone: state === 'ended' ? 'ok' : asking.has(type) ? 'ask' : 'bad',
    title: `${about}: ${noticeWords[type][state] ?? `${type} ${state}`}`,
    reason,
    facts: [
      ['event', `${type}, ${state}`],
      ...(state === 'ended' ? [['lasted', spanText(lasted)] as [string, string]] : []),
      ...Object.entries(facts).map(([name, value]): [string, string] => [spaced(name), String(value)]),
    ],
    command,
  };
}

function exportWords({ org, domain, outcome, version, url, held }: ExportFinished): EventWords {
  const facts: [string, string | null][] = [
    ['version', version],
    ['address', url],
    ['held at', held],
  ];
  return {
    tone: outcome === 'published' || outcome === 'unchanged' ? 'ok' : 'bad',
    title: `${domain} (${org}): the export ended: ${outcome}`,
    reason: null,
    facts: facts.filter((fact): fact is [string, string] => fact[1] !== null),
    command: outcome === 'published' || outcome === 'unchanged' ? null : `docferry export status ${domain}`,
  };
}

function passWords({ org, project, pass, outcome, pages, entries }: PassFinished): EventWords {
  return {
    tone: outcome === 'completed' ? 'ok' : 'bad',
    title: `${project} (${org}): the ${pass} pass ended: ${outcome}`,
    reason: null,
    facts: [
      ['pages', counted(pages, 'page')],
      ['entries', `${entries.seen} seen, ${entries.inserted} new, ${entries.updated} changed`],
    ],
    command: outcome === 'completed' ? null : `docferry feedback status ${project}`,
  };
}

/** `pagesAdded` as `pages added`. */
const spaced = (name: string) => name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
