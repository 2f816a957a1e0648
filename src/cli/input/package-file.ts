import { readFileSync } from 'node:fs';

/**
 * Text of a file of this package. The package's root is three folders up from the source and four from the built file.
 * Null when the installation lacks it.
 */
export function readPackageFile(name: string): string | null {
  for (const root of ['../../../', '../../../../']) {
    if (packageName(root) === 'docferry') return readText(root + name);
  }
  return null;
}

/** Version of this package; `unknown` when the installation is damaged. */
export function packageVersion(): string {
  const text = readPackageFile('package.json');
  return text === null ? 'unknown' : JSON.parse(text).version;
}

function packageName(root: string): unknown {
  const text = readText(`${root}package.json`);
  return text === null ? null : JSON.parse(text).name;
}

function readText(place: string): string | null {
  try {
    return readFileSync(new URL(place, import.meta.url), 'utf8');
  } catch {
    return null;
  }
}
