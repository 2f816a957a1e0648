import { z } from 'zod';
import { permitClasses } from '../budget/rules/permits.ts';
import { id, text, wholeNumber } from './field-schemas.ts';

/** Without `verify`, whose requests are spare ones. */
const classes = permitClasses.filter((name) => name !== 'verify');

const client = z.strictObject({
  name: id('a name').describe('Name of the program, unique; the budget shows it as `gateway:<name>`.'),
  token: text(`\${NAME} of an environment variable`)
    .meta({ title: 'text' })
    .describe('What the program sends as `Authorization: Bearer …`, at least 16 characters.'),
  org: id('an organization id').describe('Organization whose requests it uses.'),
  class: z
    .enum(classes, `expected ${classes.join(', ')}`)
    .default('on-demand')
    .describe('Priority of its requests among those of the organization (budget.md).'),
  share: wholeNumber(1, 100)
    .optional()
    .describe("The largest part of a window's limit that it may hold, in per cent. Absent: no limit of its own."),
});

/** What `docferry gateway` serves. */
export const gatewaySchema = z.strictObject({
  clients: z.array(client, 'expected a list of clients').default([]).describe('Programs that may use it.'),
});

export type GatewayInput = z.output<typeof gatewaySchema>;
