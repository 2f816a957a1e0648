import type { EventWords } from './event-words.ts';

const colors: Record<EventWords['tone'], string> = { ok: 'Good', bad: 'Attention', ask: 'Warning' };

/** A message for a Teams workflow "when a webhook request is received": one Adaptive Card. */
export function teamsMessage({ tone, title, reason, facts, command }: EventWords): object {
  const text = (value: string, more: object = {}) => ({ type: 'TextBlock', text: safe(value), wrap: true, ...more });
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
                  { type: 'FactSet', facts: facts.map(([name, value]) => ({ title: safe(name), value: safe(value) })) },
                ]),
            ...(command === null ? [] : [text(command, { fontType: 'Monospace' })]),
          ],
        },
      },
    ],
  };
}

/** Cards read Markdown: what begins a link or emphasis is shown as it is. Underscores are left, since ids have them. */
function safe(text: string): string {
  return text.replace(/[\\*[\]`]/g, '\\$&');
}
