import { describe, expect, it } from 'vitest';
import { Sessions, terminalIdentity } from '../../../src/console/security/sessions.ts';

describe('sessions', () => {
  it('end after the idle time, which people renew and scripts do not', () => {
    let now = 0;
    const sessions = new Sessions({ idleMs: 100, lifetimeMs: 1_000 }, () => now);
    const { cookie } = sessions.begin(terminalIdentity);
    now = 90;
    expect(sessions.find(cookie)).not.toBeNull();
    now = 180;
    expect(sessions.find(cookie, 'script')).not.toBeNull();
    expect(sessions.lasts(cookie)).toBe(true);
    now = 191;
    expect(sessions.lasts(cookie)).toBe(false);
    expect(sessions.find(cookie, 'script')).toBeNull();
    now = 0;
    expect(sessions.find(cookie)).toBeNull();
  });

  it('end a while after they began, however often they are used', () => {
    let now = 0;
    const sessions = new Sessions({ idleMs: 100, lifetimeMs: 250 }, () => now);
    const { cookie } = sessions.begin(terminalIdentity);
    for (now = 0; now <= 250; now += 50) expect([now, sessions.find(cookie) !== null]).toEqual([now, true]);
    now = 251;
    expect([sessions.lasts(cookie), sessions.find(cookie)]).toEqual([false, null]);
    const later = sessions.begin(terminalIdentity);
    expect(sessions.find(later.cookie)).not.toBeNull();
  });

  it('are bounded: of too many the one longest unused ends', () => {
    const sessions = new Sessions({ idleMs: 1_000, lifetimeMs: 1_000 }, () => 0);
    const begin = (login: number) => sessions.begin({ ...terminalIdentity, login: `${login}` });
    const [first, second] = [begin(0), begin(1)];
    sessions.find(first.cookie);
    for (let login = 2; login <= 1_000; login += 1) begin(login);
    expect([sessions.find(first.cookie) === null, sessions.find(second.cookie)]).toEqual([false, null]);
  });

  it('of one login end each other, and not those of others', () => {
    const sessions = new Sessions({ idleMs: 1_000, lifetimeMs: 1_000 }, () => 0);
    const other = sessions.begin({ ...terminalIdentity, login: 'vera' });
    const [first, second] = [sessions.begin(terminalIdentity), sessions.begin(terminalIdentity)];
    sessions.find(first.cookie);
    for (let count = 2; count <= 100; count += 1) sessions.begin(terminalIdentity);
    expect([first, second, other].map(({ cookie }) => sessions.find(cookie) !== null)).toEqual([true, false, true]);
    expect(sessions.logins().map(({ sessions: count }) => count)).toEqual([100, 1]);
  });

  it('are counted by login, and end together when that is revoked', () => {
    let now = 0;
    const sessions = new Sessions({ idleMs: 100, lifetimeMs: 1_000 }, () => now);
    const vera = { ...terminalIdentity, login: 'vera' };
    const [first, other] = [sessions.begin(vera), sessions.begin(terminalIdentity)];
    now = 10;
    const second = sessions.begin(vera);
    expect(sessions.logins()).toEqual([
      { login: 'vera', sessions: 2, beganAt: 0, seenAt: 10 },
      { login: 'terminal', sessions: 1, beganAt: 0, seenAt: 0 },
    ]);
    expect([sessions.revoke('vera'), sessions.revoke('vera'), sessions.revoke('nobody')]).toEqual([2, 0, 0]);
    expect([first.session.ended.aborted, second.session.ended.aborted, other.session.ended.aborted]).toEqual([
      true,
      true,
      false,
    ]);
    expect([sessions.isRevoked(first.cookie), sessions.isRevoked(other.cookie)]).toEqual([true, false]);
    now = 101;
    expect(sessions.logins()).toEqual([]);
    expect(other.session.ended.aborted).toBe(true);
  });

  it('have cookies and tokens that differ, and nothing for no cookie', () => {
    const sessions = new Sessions({ idleMs: 1_000, lifetimeMs: 1_000 });
    const [a, b] = [sessions.begin(terminalIdentity), sessions.begin(terminalIdentity)];
    expect(new Set([a.cookie, b.cookie, a.session.formToken, b.session.formToken]).size).toBe(4);
    expect([sessions.find(undefined), sessions.find(''), sessions.find(a.session.formToken)]).toEqual([
      null,
      null,
      null,
    ]);
  });
});
