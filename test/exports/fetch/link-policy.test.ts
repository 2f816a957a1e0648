import { describe, expect, it } from 'vitest';
import { checkAddress, checkLink, LinkRefused } from '../../../src/exports/fetch/presigned-links.ts';

const strict = { allowInsecure: false, linkHosts: [] };

describe('checkLink', () => {
  it('takes https to a name or a public address', () => {
    expect(checkLink('https://store.example/b?sig=1', strict).hostname).toBe('store.example');
    expect(checkLink('https://1.1.1.1/b', strict).hostname).toBe('1.1.1.1');
  });

  it.each([
    'http://store.example/b',
    'ftp://store.example/b',
    'file:///etc/passwd',
    'data:text/plain,x',
    'https://user:SECRET@store.example/b',
    'https://:SECRET@store.example/b',
    'https://127.0.0.1/b',
    'https://[::1]/b',
    'https://2852039166/latest/meta-data',
    'SECRET not a link',
  ])('refuses %s without repeating its secrets', (link) => {
    expect(() => checkLink(link, strict)).toThrow(LinkRefused);
    expect(() => checkLink(link, strict)).not.toThrow(/SECRET|passwd/);
  });

  it('takes plain http only when told so', () => {
    expect(checkLink('http://store.example/b', { ...strict, allowInsecure: true }).protocol).toBe('http:');
  });
});

describe('checkAddress', () => {
  it.each(['1.1.1.1', '2606:4700:4700::1111', '::ffff:1.1.1.1'])('lets the public %s through', (address) => {
    expect(() => checkAddress('store.example', '443', address, strict)).not.toThrow();
  });

  it.each([
    '127.0.0.1',
    '127.8.9.10',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.100.100.200',
    '168.63.129.16',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::127.0.0.1',
    '::ffff:10.0.0.1',
    '::ffff:a9fe:a9fe',
    'fe80::1',
    'fe80::1%eth0',
    'fd00:ec2::254',
    'ff02::1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    undefined,
  ])('refuses %s', (address) => {
    expect(() => checkAddress('store.example', '443', address, strict)).toThrow(LinkRefused);
  });

  it('lets a listed host lead anywhere, by name or by name and port', () => {
    const listed = (...linkHosts: string[]) => ({ allowInsecure: false, linkHosts });
    expect(() => checkAddress('minio.lan', '9000', '10.0.0.1', listed('MinIO.lan'))).not.toThrow();
    expect(() => checkAddress('minio.lan', '9000', '10.0.0.1', listed('minio.lan:9000'))).not.toThrow();
    expect(() => checkAddress('[::1]', '9000', '::1', listed('[::1]:9000'))).not.toThrow();
    expect(() => checkAddress('[::1]', '9000', '::1', listed('::1'))).not.toThrow();
    expect(() => checkAddress('minio.lan', '9001', '10.0.0.1', listed('minio.lan:9000'))).toThrow(LinkRefused);
    expect(() => checkAddress('x.minio.lan', '9000', '10.0.0.1', listed('minio.lan'))).toThrow(LinkRefused);
  });
});
