import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { organizationsOf } from '../../../src/organizations.ts';
import { load, organizationWith } from '../../config/config-folder.ts';
import { versionOf } from '../../tools/bundle/place.ts';

it('makes the targets of a site in the order of the configuration, with its published address', async () => {
  const config = load(
    `${organizationWith('sites: [{ domain: docs.acme.example, rollout: [{ helmValues: { file: v.yaml } }, { directory: { path: site } }] }]')}store: { bundles: { publicUrl: "https://bundles.example/" } }\n`,
  );
  const [helmValues, directory] = organizationsOf(config)[0]?.sites[0]?.targets ?? [];
  expect([helmValues?.name, directory?.name]).toEqual(['helmValues:v.yaml', 'directory:site']);
  const running = (host: string) => {
    const fields = `{ enabled: true, bundleUrl: "https://${host}/docs.acme.example/versions/v1/bundle.zip", version: "v1" }`;
    writeFileSync(path.join(config.directory, 'v.yaml'), `staticExport: ${fields}\n`);
    return helmValues && versionOf(helmValues);
  };
  expect(await running('bundles.example')).toBe('v1');
  expect(await running('other.example')).toBeNull();
  expect(directory && (await versionOf(directory))).toBeNull();
});
