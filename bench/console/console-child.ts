import { Client } from '@temporalio/client';
import { consoleSetting } from '../../src/cli/commands/console.ts';
import { loadConfig } from '../../src/config/load.ts';
import { startConsole } from '../../src/console/console.tsx';

/*
 * The console in a process of its own, which counts what it asks of Temporal and the stores (started by bench/console/console.ts).
 * It tells its parent where it is, and its counts when asked for them.
 */

export interface ConsoleCounts {
  /** Calls of Temporal's service. */
  temporal: number;
  /** Calls of the feedback store and of the bundle store. */
  stores: number;
}

export type ChildMessage = { ready: { url: string } } | { counts: ConsoleCounts };

const tell = (message: ChildMessage): void => void process.send?.(message);
const counts: ConsoleCounts = { temporal: 0, stores: 0 };

const config = await loadConfig({ file: process.argv[2] ?? '', env: {}, cwd: process.cwd(), secrets: 'deferred' });
const setting = consoleSetting(config, null);
const nobody = { groups: [], logins: [] };
const running = await startConsole({
  setting: {
    ...setting,
    connect: async () => counted(await setting.connect()),
    openFeedback: async () => counting(await setting.openFeedback(), 'stores'),
    openBundles: async () => counting(await setting.openBundles(), 'stores'),
  },
  host: '127.0.0.1',
  port: 0,
  url: null,
  previewUrl: null,
  write: true,
  idleMs: 3_600_000,
  lifetimeMs: 3_600_000,
  roles: { viewers: null, operators: nobody, contacts: nobody },
  proxy: { from: ['127.0.0.1'], user: 'x-user', groups: 'x-groups' },
  openId: null,
  link: false,
  onNewLink: () => {},
});
process.on('message', () => tell({ counts }));
process.on('disconnect', () => void running.stop().then(() => process.exit(0)));
tell({ ready: { url: running.url } });

function counted({ options, connection }: Client): Client {
  const workflowService = counting(connection.workflowService, 'temporal');
  const counted = new Proxy(connection, {
    get: (target, name) => (name === 'workflowService' ? workflowService : Reflect.get(target, name)),
  });
  return new Client({ ...options, connection: counted });
}

/** The same object, whose calls are counted. */
function counting<Counted extends object>(counted: Counted, name: keyof ConsoleCounts): Counted {
  return new Proxy(counted, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]) => {
        counts[name] += 1;
        return Reflect.apply(value, target, given);
      };
    },
  });
}
