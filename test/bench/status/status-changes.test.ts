import { describe, expect, it } from 'vitest';
import { type StatusEntry, statusChanges } from '../../../bench/status/status-changes.ts';

const now = Date.parse('2026-11-21T00:00:00Z');
const dayMs = 86_400_000;
const statuses = ['pending', 'resolved', 'in_progress', 'dismissed'];
const entries: StatusEntry[] = Array.from({ length: 8_000 }, (_, n) => ({
  id: `e${n}`,
  status: statuses[n % 4] ?? '',
  createdAt: n % 50 === 0 ? null : new Date(now - (n % 400) * dayMs).toISOString(),
}));
const byId = new Map(entries.map((entry) => [entry.id, entry]));
const isOpen = (status: string | undefined) => status === 'pending' || status === 'in_progress';

describe('the changes of bench/README.md', () => {
  const changes = statusChanges(entries, now);
  const before = changes.map(({ id }) => byId.get(id));

  it('are 250 among the last 30 days and 10 elsewhere, each of another entry with a date', () => {
    expect(new Set(changes.map(({ id }) => id)).size).toBe(260);
    const ages = before.map((entry) => now - Date.parse(entry?.createdAt ?? ''));
    expect(ages.filter((age) => age < 30 * dayMs)).toHaveLength(250);
    expect(ages.filter((age) => age >= 30 * dayMs)).toHaveLength(10);
  });

  it('go from open to closed, from closed to open, and from open to open, and always to something else', () => {
    const kinds = changes.map(({ status }, index) => `${isOpen(before[index]?.status)} ${isOpen(status)}`);
    expect(new Set(kinds)).toEqual(new Set(['true false', 'false true', 'true true']));
    expect(changes.every(({ status }, index) => status !== before[index]?.status)).toBe(true);
  });
});
