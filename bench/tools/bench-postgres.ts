import { postgresBinaries } from '../../test/tools/servers/postgres-binaries.ts';
import { startPostgres } from '../../test/tools/servers/postgres-server.ts';
import type { Track } from './track.ts';

interface BenchPostgres {
  /** For `store.feedback`, with the password in it. */
  url: string;
  stop(): Promise<void>;
}

/** A PostgreSQL server of its own with an empty database; null where it is not installed. */
export async function startBenchPostgres(track: Track): Promise<BenchPostgres | null> {
  const binaries = postgresBinaries();
  if (binaries === null) return null;
  const starting = startPostgres(binaries, { ssl: false });
  track(starting);
  const { address, stop } = await starting;
  const { user, password, host, port } = address;
  return { url: `postgres://${user}:${encodeURIComponent(password)}@${host}:${port}/postgres`, stop };
}
