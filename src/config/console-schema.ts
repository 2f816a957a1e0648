import ipaddr from 'ipaddr.js';
import { z } from 'zod';
import { isReservedName } from '../runs/rules/audit.ts';
import { address, duration, text } from './field-schemas.ts';

const people = (role: string) =>
  z
    .strictObject(
      {
        groups: z.array(text('a group'), 'expected a list of groups').default([]),
        logins: z
          .array(
            text('a login').refine(
              (login) => !isReservedName(login),
              'expected a login; this name is not let in as one',
            ),
            'expected a list of logins',
          )
          .default([]),
      },
      { error: ({ input }) => (Array.isArray(input) ? inOneList(role, input) : undefined) },
    )
    .meta({ title: 'lists `groups` and `logins`' });

/** Names of both kinds once stood in one list. Most logins are addresses; which of the others are none is not known here. */
function inOneList(role: string, names: readonly unknown[]): string {
  const isLogin = (name: unknown) => String(name).includes('@');
  const [groups, logins] = [names.filter((name) => !isLogin(name)), names.filter(isLogin)];
  const people = [
    ...(groups.length === 0 ? [] : [`groups: ${JSON.stringify(groups)}`]),
    ...(logins.length === 0 ? [] : [`logins: ${JSON.stringify(logins)}`]),
  ];
  return `groups and logins are kept apart now: write ${role}: { ${people.join(', ')} }, and move what is of the other kind`;
}

/** An IP address, or a range of them. */
function addressRange() {
  return z
    .string()
    .refine(
      (text) => (text.includes('/') ? ipaddr.isValidCIDR(text) : ipaddr.isValid(text)),
      'expected an address or a range such as 10.0.0.0/8',
    )
    .meta({ title: 'address or range' });
}

const proxy = z.strictObject({
  from: z
    .array(addressRange(), 'expected a list of addresses')
    .min(1, 'expected at least one address')
    .describe('Addresses and ranges of the proxy. The headers of others are ignored.'),
  user: text('the name of a header').default('x-forwarded-user').describe('Header with the login.'),
  groups: text('the name of a header')
    .default('x-forwarded-groups')
    .describe('Header with the groups, separated by commas.'),
});

const oidc = z.strictObject({
  issuer: address().describe('Address of the provider; `https://`, or `http://` on this machine.'),
  clientId: text('the id of a client').describe('Id of the console at the provider.'),
  clientSecret: text(`\${NAME} of an environment variable`)
    .meta({ title: 'text' })
    .describe('Secret of the console at the provider, best by reference to an environment variable.'),
  groups: text('the name of a claim').default('groups').describe('Claim with the groups.'),
});

/** Who may use `docferry console`, and for what. */
export const consoleSchema = z.strictObject({
  write: z
    .boolean('expected true or false')
    .default(false)
    .describe('Whether operators may act: start, approve, hold and so on. Otherwise everybody may only look.'),
  idle: duration({ min: '1m', max: '30d' })
    .prefault('8h')
    .describe('A session ends after this long without a request.'),
  lifetime: duration({ min: '1m', max: '90d' })
    .prefault('24h')
    .describe('A session ends this long after it began, used or not; at least `idle`.'),
  url: address()
    .refine(
      (text) => !URL.canParse(text) || new URL(text).pathname === '/',
      'expected an address without a path: the console needs a separate host name, such as https://docferry.acme.example',
    )
    .optional()
    .describe('Address at which browsers reach the console through a proxy. Absent: the address it listens on.'),
  temporalUi: address().optional().describe('Address of the Temporal UI, for links.'),
  proxy: proxy.optional().describe('A reverse proxy that signs people in and says who they are.'),
  oidc: oidc.optional().describe('An OpenID provider that signs people in.'),
  viewers: people('viewers').optional().describe('Who may look. Absent: everybody who is signed in.'),
  operators: people('operators')
    .prefault({})
    .describe('Who may act, with `write`. A person with the link from the terminal always may.'),
  contacts: people('contacts')
    .prefault({})
    .describe(
      'Who may see contacts and the fields the interface does not name. A person with the link from the terminal always may.',
    ),
});
