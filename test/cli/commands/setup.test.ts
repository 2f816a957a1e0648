import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { cloudCommands, isCloud } from '../../../src/cli/commands/setup.ts';
import { connectClient } from '../../../src/temporal/connection.ts';
import { createNamespace, searchAttributeState } from '../../../src/temporal/namespace.ts';
import { configText, docferry, docferryJson, emptyFolder } from '../../tools/cli/run-docferry.ts';
import { useDevServer } from '../../tools/temporal/temporal.ts';

/** A configuration for a namespace that does not exist yet. */
async function place(): Promise<{ namespace: string; cwd: string }> {
  const namespace = `ns-${randomUUID().slice(0, 8)}`;
  const cwd = await emptyFolder();
  const text = configText({ address: useDevServer().address }).replace(' }', `, namespace: ${namespace} }`);
  await writeFile(join(cwd, 'docferry.yaml'), text);
  return { namespace, cwd };
}

/** A client for that namespace, from outside docferry. */
async function clientOf(namespace: string) {
  const { address } = useDevServer();
  const given = { address: true, namespace: true };
  const client = await connectClient({ address, namespace, given, taskQueue: 'none', profile: null });
  onTestFinished(() => client.connection.close());
  return client;
}

const names = ['DocferryOrg', 'DocferryDomain', 'DocferryProject', 'DocferryPhase', 'DocferryOutcome'];

describe('docferry setup', () => {
  it('registers the search attributes of a namespace, and finds them there the next time', async () => {
    const { namespace, cwd } = await place();
    await createNamespace(await clientOf(namespace), 1);
    const first = await docferryJson(['setup'], { cwd });
    expect(first.exitCode).toBe(0);
    expect(first.document).toEqual({
      ready: true,
      address: useDevServer().address,
      namespace,
      created: false,
      registered: names,
      present: [],
      missing: [],
      commands: [],
    });
    const second = await docferryJson(['setup'], { cwd });
    expect(second).toMatchObject({ exitCode: 0, document: { ready: true, registered: [], present: names } });
    const start = await docferry(['export', 'start', 'docs.acme.example'], { cwd });
    expect(start.exitCode).toBe(0);
  });

  it('creates a namespace only with --create-namespace', async () => {
    const { namespace, cwd } = await place();
    const refused = await docferryJson(['setup'], { cwd });
    expect(refused.exitCode).toBe(2);
    expect(refused.document).toMatchObject({
      error: {
        code: 'NoNamespace',
        message: expect.stringContaining(namespace),
        hint: expect.stringContaining('--create-namespace'),
      },
    });
    const created = await docferry(['setup', '--create-namespace'], { cwd });
    expect(created.exitCode).toBe(0);
    expect(created.stdout).toContain(`namespace ${namespace}: created, closed workflows stay for 30 days`);
    const again = await docferryJson(['setup', '--create-namespace'], { cwd });
    expect(again.document).toMatchObject({ created: false, registered: [], present: names });
  });

  it('leaves a search attribute of another type alone, and says so', async () => {
    const { namespace, cwd } = await place();
    const client = await clientOf(namespace);
    await createNamespace(client, 1);
    const text = 1;
    const searchAttributes = { DocferryPhase: text };
    const add = () => client.connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
    await expect.poll(() => add().then(Boolean, () => false)).toBe(true);
    await expect.poll(async () => (await searchAttributeState(client)).mistyped).toHaveLength(1);
    const { exitCode, document } = await docferryJson(['setup'], { cwd });
    expect(exitCode).toBe(1);
    expect(document).toHaveProperty('error.code', 'SearchAttributeMistyped');
    expect(document).toHaveProperty('error.message', expect.stringContaining('DocferryPhase'));
  });

  it('needs a Temporal that answers: exit code 3', async () => {
    const cwd = await emptyFolder();
    await writeFile(join(cwd, 'docferry.yaml'), configText({}));
    expect((await docferry(['setup'], { cwd })).exitCode).toBe(3);
  });
});

describe('Temporal Cloud', () => {
  it('is recognized by its addresses', () => {
    const cloud = ['docs.acct.tmprl.cloud:7233', 'eu-west-1.aws.api.temporal.io:7233'];
    expect(cloud.map(isCloud)).toEqual([true, true]);
    const others = ['localhost:7233', 'tmprl.cloud.example:7233', 'temporal.io:7233'];
    expect(others.map(isCloud)).toEqual([false, false, false]);
  });

  it('is set up by its own command, which names the missing attributes', () => {
    expect(cloudCommands('docs.acct', [])).toEqual([]);
    expect(cloudCommands('docs.acct', ['DocferryOrg', 'DocferryPhase'])).toEqual([
      'tcld namespace search-attributes add --namespace docs.acct --search-attribute "DocferryOrg=Keyword" --search-attribute "DocferryPhase=Keyword"',
    ]);
  });
});
