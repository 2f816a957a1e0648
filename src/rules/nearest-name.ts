/** The name that a person most likely meant, by its letters; null when none is near. */
export function nearestName(written: string, names: readonly string[]): string | null {
  const [nearest] = names
    .map((name) => ({ name, distance: editDistance(written.toLowerCase(), name.toLowerCase()) }))
    .filter(({ distance, name }) => distance <= Math.max(1, Math.floor(name.length / 3)))
    .sort((a, b) => a.distance - b.distance);
  return nearest?.name ?? null;
}

/** Levenshtein distance. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, characterA] of [...a].entries()) {
    const next = [i + 1];
    for (const [j, characterB] of [...b].entries()) {
      const replace = (row[j] ?? 0) + (characterA === characterB ? 0 : 1);
      next.push(Math.min(replace, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
