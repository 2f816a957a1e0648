/** `skipped`: not possible, because another check failed. */
export type Level = 'ok' | 'warning' | 'error' | 'skipped';

/** One verdict of `docferry doctor`. */
export interface Check {
  /** Stable name for scripts, e.g. `temporal` or `api-key:acme`. */
  name: string;
  level: Level;
  /** One line. */
  detail: string;
  /** What to do about it; null when there is nothing to do. */
  fix: string | null;
}

export const good = (name: string, detail: string): Check => ({ name, level: 'ok', detail, fix: null });

export const warning = (name: string, detail: string, fix: string): Check => ({ name, level: 'warning', detail, fix });

export const bad = (name: string, detail: string, fix: string): Check => ({ name, level: 'error', detail, fix });

export const skipped = (name: string, because: string): Check => ({
  name,
  level: 'skipped',
  detail: `not checked: ${because}`,
  fix: null,
});

/** A check that could not reach a verdict, e.g. because the system or Temporal refused. */
export function failed(name: string, { message, hint }: { message: string; hint: string | null }): Check {
  return bad(name, message, hint ?? 'see the message');
}
