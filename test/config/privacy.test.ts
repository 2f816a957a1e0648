import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { feedbackPrivacy } from '../../src/feedback/privacy/privacy.ts';
import { failureOf, key, load, minimal, problemsOf } from './config-folder.ts';

const hashKey = 'hunter2-hunter2-hunter2-hunter2-';
const yaml = (privacy: string) => `${minimal}privacy: { ${privacy} }\n`;
const env = { ACME_API_KEY: key, HASH_KEY: hashKey };
const hashing = yaml(`contacts: hash, comments: drop, hashKey: "\${HASH_KEY}", keepFields: [locale], retention: 400d`);

describe('privacy', () => {
  it('keeps everything for ever when nothing is said', () => {
    expect(load(minimal).privacy).toEqual({
      contacts: 'keep',
      comments: 'keep',
      hashKey: null,
      keepFields: [],
      retentionMs: null,
    });
  });

  it('is what the file says, and never shows its key', () => {
    const { privacy } = load(hashing, { env });
    const told = { contacts: 'hash', comments: 'drop', keepFields: ['locale'], retentionMs: 400 * 86_400_000 };
    expect(privacy).toMatchObject(told);
    expect(feedbackPrivacy(privacy)).toMatchObject(told);
    expect(feedbackPrivacy(privacy).hashKey()).toBe(hashKey);
    const printed = [JSON.stringify(privacy), inspect(privacy, { depth: 10, showHidden: true }), `${privacy.hashKey}`];
    for (const text of printed) expect(text).not.toContain('hunter2');
  });

  it('wants a key that is there and cannot be guessed, when keys are required', () => {
    expect(problemsOf(hashing)).toEqual(['privacy.hashKey: the environment variable HASH_KEY is not set']);
    const short = failureOf(() => load(hashing, { env: { ...env, HASH_KEY: hashKey.slice(1) } }));
    expect(short.message).toMatch(/privacy\.hashKey .*at least 32 characters in the environment variable HASH_KEY/);
    expect(short.message).not.toContain('hunter2');
    const written = failureOf(() => load(yaml('contacts: hash, hashKey: hunter2')));
    expect(written.message).toMatch(/at least 32 characters in the configuration file/);
    expect(written.message).not.toContain('hunter2');
  });

  it('asks for the key of a deferred one when something is hashed', () => {
    const { privacy } = load(hashing, { secrets: 'deferred' });
    expect(() => feedbackPrivacy(privacy).hashKey()).toThrow('the environment variable HASH_KEY is not set');
  });
});
