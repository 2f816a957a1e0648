import { readFileSync } from 'node:fs';

/** Text of a file of this package, two folders up from the source, three from the build; null when it is missing. */
export function readPackageFile(name: string): string | null {
  const root = ['../../', '../../../'].find((place) => readText(`${place}package.json`) !== null);
  return root === undefined ? null : readText(root + name);
}

/** Version of this package; `unknown` when the installation is damaged. */
export function packageVersion(): string {
  const text = readPackageFile('package.json');
  return text === null ? 'unknown' : JSON.parse(text).version;
}

function readText(place: string): string | null {
  try {
    return readFileSync(new URL(place, import.meta.url), 'utf8');
  } catch {
    return null;
  }
}
