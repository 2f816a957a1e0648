import type { PrivacyConfig } from '../../../config/config.ts';

const dayMs = 86_400_000;

/** `contacts hash, comments keep, deleted after 400 days`; null when everything is kept for ever. */
export function privacyText({ contacts, comments, retentionMs }: PrivacyConfig): string | null {
  if (contacts === 'keep' && comments === 'keep' && retentionMs === null) return null;
  const days = retentionMs === null ? [] : [`deleted after ${Number((retentionMs / dayMs).toFixed(1))} days`];
  return [`contacts ${contacts}`, `comments ${comments}`, ...days].join(', ');
}
