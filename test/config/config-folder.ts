import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { type LoadOptions, loadConfig } from '../../src/config/load.ts';
import { ConfigError } from '../../src/config/secrets.ts';

export const key = 'vendor_admin_SECRET_4f1c9d';

/** A folder of its own with the given files, removed after the test. */
export function folderWith(files: Record<string, string>): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'docferry-config-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(folder, name), text);
  return folder;
}

/** Loads `yaml` as ./docferry.yaml; ACME_API_KEY is set. */
export function load(yaml: string, options: Partial<LoadOptions> = {}): Config {
  const cwd = folderWith({ 'docferry.yaml': yaml });
  return loadConfig({ env: { ACME_API_KEY: key }, cwd, secrets: 'required', ...options });
}

/** What loading fails with. */
export function failureOf(run: () => unknown): ConfigError {
  try {
    run();
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error('loading should have failed');
}

/** Problems of `yaml`, as `path: message`. */
export function problemsOf(yaml: string, options: Partial<LoadOptions> = {}): string[] {
  return failureOf(() => load(yaml, options)).problems.map(({ path: field, message }) => `${field}: ${message}`);
}

export const minimal = `
service: { baseUrl: https://docs-service.example }
organizations:
  - id: acme
    apiKey: \${ACME_API_KEY}
`;

/** The smallest file with more in its one organization, indented by four. */
export function organizationWith(more: string): string {
  return `${minimal}${more.replace(/^(?=.)/gm, '    ')}\n`;
}
