import { describe, expect, it } from 'vitest';
import { parsePostgresAddress, passwordSpan, shownAddress } from '../../src/config/secrets.ts';

function parsed(text: string) {
  const address = parsePostgresAddress(text);
  if (typeof address === 'string') throw new Error(address);
  return address;
}

const onlyTls = { rootCert: null, cert: null, key: null };

describe('parsePostgresAddress', () => {
  it('takes an address apart', () => {
    expect(parsed('postgres://ann:s3cret@db.example:6432/feedback')).toEqual({
      host: 'db.example',
      port: 6432,
      database: 'feedback',
      user: 'ann',
      password: 's3cret',
      tls: { mode: 'verify-full', ...onlyTls },
      options: null,
    });
  });

  it('fills in the port, and takes no password for none', () => {
    expect(parsed('postgresql://ann@db.example/x')).toMatchObject({ port: 5432, password: null });
    expect(parsed('postgres://ann:@db.example/x').password).toBe('');
  });

  it.each([
    [`postgres://ann:a%40b%2Fc%25@db/x`, 'a@b/c%'],
    [`postgres://ann:a/b@c#d?e@db/x`, 'a/b@c#d?e'],
    [`postgres://ann:\${PASSWORD}@db/x`, `\${PASSWORD}`],
    [`postgres://ann:a:b@db/x`, 'a:b'],
  ])('reads the password of %s', (text, password) => {
    expect(parsed(text).password).toBe(password);
    expect(parsed(text)).toMatchObject({ host: 'db', user: 'ann', database: 'x' });
  });

  it.each([
    ['localhost', 'disable'],
    ['127.0.0.1', 'disable'],
    ['[::1]', 'disable'],
    ['db', 'verify-full'],
    ['127.0.0.1.example', 'verify-full'],
  ])('asks for TLS at %s: %s', (host, mode) => {
    expect(parsed(`postgres://ann@${host}/x`).tls.mode).toBe(mode);
  });

  it('reads the parameters', () => {
    const text = 'postgres://ann@db/x?sslmode=verify-ca&sslrootcert=./ca.pem&sslcert=c.pem&sslkey=k.pem';
    expect(parsed(`${text}&options=-csearch_path%3Da`)).toMatchObject({
      tls: { mode: 'verify-ca', rootCert: './ca.pem', cert: 'c.pem', key: 'k.pem' },
      options: '-csearch_path=a',
    });
    expect(parsed('postgres://ann@/x?host=/run/postgresql')).toMatchObject({
      host: '/run/postgresql',
      tls: { mode: 'disable' },
    });
    expect(parsed('postgres://ann@[2001:db8::1]:99/x')).toMatchObject({ host: '2001:db8::1', port: 99 });
  });

  it.each([
    ['postgres://db/x', /no user/],
    ['postgres://:secret@db/x', /no user/],
    ['postgres://ann:secret@db', /no name of a database/],
    ['postgres://ann:secret@db/', /no name of a database/],
    ['postgres://ann:secret@db/a/b', /no name of a database/],
    ['postgres://ann:secret@/x', /one host/],
    ['postgres://ann:secret@one,two/x', /one host/],
    ['postgres://ann:secret@db:99999/x', /port/],
    ['postgres://ann:secret@db/x?sslmode=prefer', /sslmode=disable, require, verify-ca, verify-full/],
    ['postgres://ann:secret@db/x?ssl=true', /unknown parameter ssl;/],
    ['postgres://ann:secret@db/x?sslmode=require&sslrootcert=a', /verify-ca or verify-full/],
    ['postgres://ann:secret@db/x?sslmode=disable&sslcert=a&sslkey=b', /certificates go with/],
    ['postgres://ann:secret@db/x?sslcert=a', /sslcert and sslkey together/],
    ['postgres://ann:secret@db/x?host=/run', /one host/],
    ['postgres://ann:secret%@db/x', /%25 for a %/],
  ])('refuses %s', (text, message) => {
    const problem = parsePostgresAddress(text);
    expect(problem).toMatch(message);
    expect(problem).not.toContain('secret');
  });
});

describe('passwordSpan', () => {
  it.each([
    [`postgres://ann:\${P}@db/x`, `\${P}`],
    ['postgres://ann:p@q@db/x', 'p@q'],
    ['postgres://ann@db/x', null],
    ['postgres://db:5432/x', null],
    ['sqlite:./a:b@c', null],
    [`\${URL}`, null],
  ])('finds the password in %s', (text, password) => {
    const span = passwordSpan(text);
    expect(span === null ? null : text.slice(span.start, span.end)).toBe(password);
  });
});

describe('shownAddress', () => {
  it.each([
    ['postgres://ann:s3cret@db/x?sslmode=require', 'postgres://ann@db:5432/x'],
    ['postgres://ann:s3cret@[::1]:99/x', 'postgres://ann@[::1]:99/x'],
    ['postgres://ann:s3cret@/x?host=/run/postgresql', 'postgres://ann@/x?host=/run/postgresql'],
  ])('shows %s as %s', (text, shown) => {
    expect(shownAddress(parsed(text))).toBe(shown);
  });
});
