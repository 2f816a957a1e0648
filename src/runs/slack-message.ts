import type { EventWords } from './event-words.ts';

/** Slack's limits, in characters. */
const limits = { header: 150, section: 3_000, field: 2_000, fields: 10 };

const signs: Record<EventWords['tone'], string> = { ok: '✅', bad: '🔴', ask: '🟡' };

/**
 * A message for an incoming webhook of Slack: `text` for notifications, `blocks` for the channel. Text from elsewhere
 * cannot mention a member or become a link.
 */
export function slackMessage(words: EventWords): object {
  const { tone, title, reason, facts, command } = words;
  const headline = `${signs[tone]} ${title}`;
  const fields = facts
    .slice(0, limits.fields)
    .map(([name, value]) => mrkdwn(`*${safe(name)}*\n${safe(value)}`, limits.field));
  return {
    text: cut(safe(headline), limits.section),
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: cut(headline, limits.header), emoji: true } },
      ...(reason === null ? [] : [section(safe(reason))]),
      ...(fields.length === 0 ? [] : [{ type: 'section', fields }]),
      ...(command === null ? [] : [section(`\`${safe(command).replaceAll('`', "'")}\``)]),
    ],
  };
}

// Verbatim: what stands in a reason becomes no link.
const mrkdwn = (text: string, longest: number) => ({ type: 'mrkdwn', text: cut(text, longest), verbatim: true });

const section = (text: string) => ({ type: 'section', text: mrkdwn(text, limits.section) });

/** The three characters with a meaning of their own, as Slack asks for; marks of emphasis are shown as they are. */
function safe(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** By whole characters, and by none of Slack's entities in halves. */
function cut(text: string, longest: number): string {
  if (text.length <= longest) return text;
  return `${text.slice(0, longest - 1).replace(/[\ud800-\udbff]$|&[a-z]{0,3}$/u, '')}…`;
}
