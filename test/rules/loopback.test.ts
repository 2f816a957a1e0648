import { describe, expect, it } from 'vitest';
import { isLoopback } from '../../src/rules/loopback.ts';

describe('isLoopback', () => {
  it.each([
    'localhost',
    'LOCALHOST',
    'docs.localhost',
    '127.0.0.1',
    '127.8.9.10',
    '[::1]',
    '::1',
    'localhost:7233',
    'docs.localhost:80',
    '127.0.0.1:7233',
    '[::1]:7233',
  ])('is true of %s', (host) => {
    expect(isLoopback(host)).toBe(true);
  });

  it.each([
    '',
    'localhost.example',
    'notlocalhost',
    '.localhost',
    '127.0.0.1.example',
    '128.0.0.1',
    '127.example:80',
    '::1:80',
    '[::2]',
    'localhost:port',
  ])('is false of %j', (host) => {
    expect(isLoopback(host)).toBe(false);
  });
});
