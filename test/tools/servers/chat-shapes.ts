import { z } from 'zod';

/*
 * What incoming webhooks take, as Slack ("Block Kit": blocks and text objects) and Microsoft (Adaptive Cards 1.4, and the
 * message of "Post to a channel when a webhook request is received") publish it. Strict: they refuse unknown fields too.
 */

const plainText = (longest: number) =>
  z.strictObject({
    type: z.literal('plain_text'),
    text: z.string().min(1).max(longest),
    emoji: z.boolean().optional(),
  });
const mrkdwn = (longest: number) =>
  z.strictObject({ type: z.literal('mrkdwn'), text: z.string().min(1).max(longest), verbatim: z.boolean().optional() });

const slackBlock = z.union([
  z.strictObject({ type: z.literal('header'), text: plainText(150) }),
  z
    .strictObject({
      type: z.literal('section'),
      text: mrkdwn(3_000).optional(),
      fields: z.array(mrkdwn(2_000)).min(1).max(10).optional(),
    })
    .refine(({ text, fields }) => text !== undefined || fields !== undefined),
]);

/** In `mrkdwn`, `<` begins a link or a mention, and `&` an entity. */
const escaped = /^(?:[^&<>]|&(?:amp|lt|gt);)*$/;
/** A text that is one link of our own. */
const link = /^<https?:[^<>|&\s]+\|[\w ]+>$/;

const slackPayload = z
  .strictObject({ text: z.string().min(1).max(40_000).regex(escaped), blocks: z.array(slackBlock).min(1).max(50) })
  .refine(({ blocks }) =>
    blocks.every(
      (block) =>
        block.type === 'header' ||
        [block.text, ...(block.fields ?? [])].every(
          (text) => text === undefined || escaped.test(text.text) || link.test(text.text),
        ),
    ),
  );

const textBlock = z.strictObject({
  type: z.literal('TextBlock'),
  text: z.string().min(1),
  wrap: z.boolean().optional(),
  size: z.enum(['Small', 'Default', 'Medium', 'Large', 'ExtraLarge']).optional(),
  weight: z.enum(['Lighter', 'Default', 'Bolder']).optional(),
  color: z.enum(['Default', 'Dark', 'Light', 'Accent', 'Good', 'Warning', 'Attention']).optional(),
  fontType: z.enum(['Default', 'Monospace']).optional(),
});
const factSet = z.strictObject({
  type: z.literal('FactSet'),
  facts: z.array(z.strictObject({ title: z.string(), value: z.string() })).min(1),
});

const teamsPayload = z.strictObject({
  type: z.literal('message'),
  attachments: z
    .array(
      z.strictObject({
        contentType: z.literal('application/vnd.microsoft.card.adaptive'),
        contentUrl: z.null(),
        content: z.strictObject({
          $schema: z.literal('http://adaptivecards.io/schemas/adaptive-card.json'),
          type: z.literal('AdaptiveCard'),
          version: z.literal('1.4'),
          body: z.array(z.union([textBlock, factSet])).min(1),
        }),
      }),
    )
    .length(1),
});

/** Teams refuses larger messages. */
const teamsBytes = 28 * 1024;

/** What is wrong with a message to Slack or Teams; null when it would be taken. */
export function shapeProblem(format: 'slack' | 'teams', body: string): string | null {
  if (format === 'teams' && Buffer.byteLength(body) > teamsBytes) return `${Buffer.byteLength(body)} bytes`;
  const { error } = (format === 'slack' ? slackPayload : teamsPayload).safeParse(JSON.parse(body));
  return error === undefined ? null : z.prettifyError(error);
}
