import type { TestProject } from 'vitest/node';
import { postgresBinaries } from './postgres-binaries.ts';
import { makeTemplate } from './postgres-database.ts';
import { type PostgresServerAddress, startPostgres } from './postgres-server.ts';

/** What the set-up hands to test files that use PostgreSQL; null where it is not installed. */
export interface PostgresTestContext {
  binaries: string;
  address: PostgresServerAddress;
}

declare module 'vitest' {
  export interface ProvidedContext {
    postgres: PostgresTestContext | null;
  }
}

/** Runs once before the first test file: one real server for all of them, each test with a database of its own. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const binaries = postgresBinaries();
  if (binaries === null) {
    process.stderr.write('PostgreSQL is not installed: its tests are skipped (apt-get install postgresql)\n');
    project.provide('postgres', null);
    return async () => {};
  }
  const server = await startPostgres(binaries);
  await makeTemplate(server.address);
  const pid = server.pid();
  // Should the run be cut short, the server must not stay; it holds nothing that could be lost.
  const killAtExit = () => process.kill(pid, 'SIGQUIT');
  process.once('exit', killAtExit);
  project.provide('postgres', { binaries, address: server.address });
  return async () => {
    process.off('exit', killAtExit);
    await server.stop();
  };
}
