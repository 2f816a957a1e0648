import { describe, expect, it } from 'vitest';
import { ClientTokens } from '../../../src/budget/gateway/gateway.ts';

const client = (name: string) => ({ name, org: 'acme', class: 'on-demand' as const, share: null });
const tokens = new ClientTokens([
  { token: 'first-token-0123456789', client: client('first') },
  { token: 'second-token-012345678', client: client('second') },
]);

describe('tokens of clients', () => {
  it('are found by the Authorization header', () => {
    expect(tokens.clientOf('Bearer first-token-0123456789')?.name).toBe('first');
    expect(tokens.clientOf('bearer  second-token-012345678')?.name).toBe('second');
  });

  it.each([
    undefined,
    '',
    'Bearer ',
    'Bearer first-token-012345678',
    'Bearer first-token-01234567890',
    'Bearer FIRST-token-0123456789',
    'Bearer first-token-0123456789 x',
    'Basic first-token-0123456789',
    'first-token-0123456789',
  ])('are not found by anything else: %s', (header) => {
    expect(tokens.clientOf(header)).toBeNull();
  });
});
