import { expect, it } from 'vitest';
import { clientOf, ReaderSlots } from '../../../src/bundle/server/reader-slots.ts';

it('limits slots in total and by address, and frees each once', () => {
  const slots = new ReaderSlots({ total: 3, perAddress: 2 });
  const [first, second] = [slots.take('10.0.0.1'), slots.take('10.0.0.1')];
  expect([first, second].every((release) => release !== null)).toBe(true);
  expect(slots.take('10.0.0.1')).toBeNull();
  expect(slots.take('::ffff:10.0.0.1')).toBeNull();
  const other = slots.take('10.0.0.2');
  expect(other).not.toBeNull();
  expect(slots.take('10.0.0.3')).toBeNull();
  first?.();
  first?.();
  expect(slots.take('10.0.0.3')).not.toBeNull();
  expect(slots.take('10.0.0.4')).toBeNull();
  other?.();
  second?.();
  expect([slots.take('10.0.0.1'), slots.take('10.0.0.1')].every((release) => release !== null)).toBe(true);
  expect(slots.take('10.0.0.1')).toBeNull();
});

it('counts all addresses of an IPv6 client as one', () => {
  expect(clientOf('2001:db8:1:2::1')).toBe(clientOf('2001:db8:1:2:ffff::9'));
  expect(clientOf('2001:db8:1:2::1')).not.toBe(clientOf('2001:db8:1:3::1'));
  expect(clientOf('fe80::1%eth0')).toBe(clientOf('fe80::2%eth0'));
  expect(clientOf('::ffff:10.0.0.1')).toBe('10.0.0.1');
  expect(clientOf(undefined)).toBe('');
});
