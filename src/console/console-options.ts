import type { ConsoleSetting } from './console-setting.ts';
import type { OpenIdSetting } from './identity/openid.ts';
import type { ProxySetting } from './identity/proxy-identity.ts';
import type { ReadingTimes } from './readings/shared-reading.ts';
import type { Roles } from './security/identity.ts';

export interface ConsoleOptions {
  setting: ConsoleSetting;
  host: string;
  /** 0 picks a free one. */
  port: number;
  /** Its address for browsers behind a proxy; null for where it listens. */
  url: string | null;
  /** Whether operators may act. */
  write: boolean;
  /** A session ends after this long without a request, in milliseconds. */
  idleMs: number;
  /** A session ends this long after it began, in milliseconds. */
  lifetimeMs: number;
  roles: Roles;
  proxy: ProxySetting | null;
  openId: OpenIdSetting | null;
  /** False for no link to sign in by; with a proxy or provider there is none anyway. */
  link: boolean;
  /** Told the next address to sign in by whenever one has been used. */
  onNewLink(url: string): void;
  times?: ReadingTimes;
}
