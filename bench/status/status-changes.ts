/*
 * bench/README.md "changes": 250 changes of status (open to closed, closed to open, open to open) among the entries of the last
 * 30 days and 10 anywhere.
 */

export interface StatusEntry {
  id: string;
  status: string;
  createdAt: string | null;
}

export interface StatusChange {
  id: string;
  status: string;
}

const monthMs = 30 * 86_400_000;

/** Which entries to change, and to what, evenly spread; those without a date stay. */
export function statusChanges(entries: Iterable<StatusEntry>, now: number): StatusChange[] {
  const recent: StatusEntry[] = [];
  const older: StatusEntry[] = [];
  for (const entry of entries) {
    if (entry.createdAt === null) continue;
    (Date.parse(entry.createdAt) > now - monthMs ? recent : older).push(entry);
  }
  const opened = spread(recent.filter(isOpen), 125);
  const changed = [
    ...opened,
    ...spread(recent.filter(isClosed), 250 - opened.length),
    ...spread(older.filter(isOpen), 6),
    ...spread(older.filter(isClosed), 4),
  ];
  return changed.map(changeOf);
}

const isOpen = ({ status }: StatusEntry): boolean => status === 'pending' || status === 'in_progress';
const isClosed = (entry: StatusEntry): boolean => !isOpen(entry);

/** Open entries are closed, but for every third, which goes to the other open status; closed ones are opened. */
function changeOf(entry: StatusEntry, index: number): StatusChange {
  const { id, status } = entry;
  if (isClosed(entry)) return { id, status: index % 2 === 0 ? 'pending' : 'in_progress' };
  if (index % 3 !== 0) return { id, status: index % 2 === 0 ? 'resolved' : 'dismissed' };
  return { id, status: status === 'pending' ? 'in_progress' : 'pending' };
}

/** So many of a list, spread over it. */
function spread<Item>(items: readonly Item[], count: number): Item[] {
  const step = Math.max(1, Math.floor(items.length / count));
  return items.filter((_, index) => index % step === 0).slice(0, count);
}
