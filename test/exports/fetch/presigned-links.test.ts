import { describe, expect, it } from 'vitest';
import {
  checkAddress,
  checkLink,
  expiryOf,
  LinkRefused,
  type PresignedLink,
  PresignedLinks,
} from '../../../src/exports/fetch/presigned-links.ts';

const begin = Date.UTC(2026, 10, 21, 4, 0, 0);
const hour = 3_600_000;

/** Numbered links, each valid for `lifetimeMs` by a clock that differs from ours by `skew`. */
function linksOf(lifetimeMs: number | null, { skew = 0, serviceTells = true } = {}) {
  const clock = { now: begin };
  let asked = 0;
  const links = new PresignedLinks(
    async (): Promise<PresignedLink> => {
      asked += 1;
      return {
        href: `https://store.example/${asked}`,
        sizeBytes: 10,
        expiresAtMs: lifetimeMs === null ? null : clock.now + skew + lifetimeMs,
        serviceNowMs: serviceTells ? clock.now + skew : null,
      };
    },
    () => clock.now,
  );
  const take = async () => Number((await links.take()).at(-1));
  return { links, clock, take, asked: () => asked };
}

describe('the links of a download', () => {
  it('are used until shortly before they expire', async () => {
    const { clock, take } = linksOf(5_000);
    expect(await take()).toBe(1);
    clock.now += 3_400;
    expect(await take()).toBe(1);
    clock.now += 200;
    expect(await take()).toBe(2);
  });

  it.each([hour, -hour])('are timed by a clock that is %i ms off', async (skew) => {
    const { clock, take } = linksOf(5_000, { skew });
    await take();
    clock.now += 3_400;
    expect(await take()).toBe(1);
    clock.now += 200;
    expect(await take()).toBe(2);
  });

  it("are timed by the store's clock once an answer shows it", async () => {
    const { links, clock, take } = linksOf(60_000, { serviceTells: false });
    await take();
    links.observe(new Date(clock.now + 59_000).toUTCString());
    expect(await take()).toBe(2);
    links.observe('garbage');
    links.observe(null);
    expect(await take()).toBe(3);
  });

  it('are used once, even when they have expired on arrival', async () => {
    const { take, asked } = linksOf(-hour);
    expect([await take(), await take()]).toEqual([1, 2]);
    expect(asked()).toBe(2);
  });

  it('are used for ever without an expiry', async () => {
    const { clock, take } = linksOf(null);
    await take();
    clock.now += 1_000 * hour;
    expect(await take()).toBe(1);
  });

  it('are shared by connections that need one at the same time', async () => {
    const { take, asked } = linksOf(hour);
    expect(await Promise.all([take(), take(), take()])).toEqual([1, 1, 1]);
    expect(asked()).toBe(1);
  });

  it('are replaced once when refused, for all connections that use them', async () => {
    const { links, take } = linksOf(hour);
    const href = await links.take();
    links.refuse(href, 403);
    links.refuse(href, 403);
    expect(await take()).toBe(2);
  });

  it('fail the download when three in a row are refused, unless bytes arrived in between', async () => {
    const { links } = linksOf(hour);
    const refuse = async () => links.refuse(await links.take(), 403);
    await refuse();
    await refuse();
    links.served();
    await refuse();
    await refuse();
    await expect(refuse()).rejects.toMatchObject({
      name: 'LinkExpired',
      message: '3 links in a row were refused (HTTP 403, though by its own date it has not expired)',
    });
  });

  it('fail the download also when another connection has replaced each by the time it is refused', async () => {
    const { links, clock } = linksOf(5_000);
    const used: string[] = [];
    for (let count = 0; count < 4; count += 1) {
      used.push(await links.take());
      clock.now += 5_000;
    }
    const refuse = (link = '') => links.refuse(link, 403);
    refuse(used[0]);
    refuse(used[0]);
    refuse(used[1]);
    expect(() => refuse(used[2])).toThrow('3 links in a row were refused (HTTP 403)');
    links.served();
    expect(() => refuse(used[3])).not.toThrow();
  });

  it('are requested again after the service failed to give one', async () => {
    const answers = [new Error('503'), null];
    const links = new PresignedLinks(async () => {
      const failure = answers.shift();
      if (failure) throw failure;
      return { href: 'https://store.example/1', sizeBytes: null, expiresAtMs: null, serviceNowMs: null };
    });
    await expect(links.take()).rejects.toThrow('503');
    expect(await links.take()).toBe('https://store.example/1');
  });
});

const moment = Date.UTC(2026, 10, 21, 4, 2, 0);

describe('when a link expires by its own query', () => {
  it.each([
    ['X-Amz-Date=20261121T040100Z&X-Amz-Expires=60', moment],
    ['x-amz-date=20261121T040100Z&x-amz-expires=60', moment],
    ['X-Goog-Date=20261121T040100Z&X-Goog-Expires=60&X-Goog-Signature=s', moment],
    [`Expires=${moment / 1000}&Signature=s&Key-Pair-Id=k`, moment],
    ['sv=2022-11-02&se=2026-11-21T04%3A02%3A00Z&sig=s', moment],
    ['se=2026-11-21T04%3A02%3A00Z', null],
    ['X-Amz-Expires=60', null],
    ['X-Amz-Date=yesterday&X-Amz-Expires=60', null],
    ['X-Amz-Date=20261121T040100Z&X-Amz-Expires=-60', null],
    ['X-Amz-Date=20269921T040100Z&X-Amz-Expires=60', null],
    ['Expires=soon', null],
    ['', null],
  ])('%s', (query, expected) => {
    expect(expiryOf(`https://store.example/bundle?${query}`)).toBe(expected);
  });

  it('is unknown for text that is no link', () => {
    expect(expiryOf('not a link')).toBeNull();
  });
});

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
