import { describe, expect, it } from 'vitest';
import { type PresignedLink, PresignedLinks } from '../../../src/exports/fetch/presigned-links.ts';

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
