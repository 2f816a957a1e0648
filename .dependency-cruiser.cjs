const swc = require('@swc/core');

// dependency-cruiser reads TypeScript by swc without JSX, and has no setting for it.
const { parseFileSync } = swc;
swc.parseFileSync = (file, options) => parseFileSync(file, { ...options, tsx: file.endsWith('.tsx') });

/**
 * Which room of src may import which, types included: what is not listed is refused. `rules` stands for the pure code of
 * every subject (`src/rules` and each `src/<subject>/rules`), which imports nothing but rules. `npm run lint` reads the
 * list, and `npm run graph` prints it for docs/architecture.md.
 */
const arrows = {
  rules: [],
  'contract.ts': ['rules'],
  'files.ts': ['sqlite.ts'],
  'sqlite.ts': [],
  'http-client.ts': [],
  'http-server.ts': ['rules'],
  'semaphore.ts': [],
  config: ['rules', 'files.ts'],
  service: ['rules'],
  temporal: ['rules', 'contract.ts', 'service'],
  budget: ['rules', 'contract.ts', 'http-server.ts', 'semaphore.ts', 'config', 'service', 'temporal'],
  exports: ['rules', 'files.ts', 'http-client.ts', 'http-server.ts', 'semaphore.ts', 'config', 'service'],
  feedback: ['rules', 'files.ts', 'sqlite.ts', 'config'],
  runs: ['rules', 'contract.ts', 'http-client.ts', 'temporal', 'budget'],
  schedules: ['rules', 'contract.ts', 'temporal'],
  operations: ['rules', 'contract.ts', 'config', 'temporal', 'budget', 'exports', 'feedback', 'runs', 'schedules'],
  workflows: ['rules', 'contract.ts'],
  activities: ['rules', 'config', 'service', 'temporal', 'budget', 'exports', 'feedback', 'runs'],
  local: ['rules', 'files.ts', 'http-server.ts'],
  'organizations.ts': ['rules', 'config', 'service', 'schedules', 'exports', 'activities'],
  'worker-metrics.ts': ['rules', 'semaphore.ts', 'service', 'temporal', 'activities'],
  console: [
    'rules',
    'contract.ts',
    'files.ts',
    'http-client.ts',
    'http-server.ts',
    'semaphore.ts',
    'temporal',
    'budget',
    'exports',
    'feedback',
    'runs',
    'schedules',
    'operations',
  ],
  'worker.ts': [
    'rules',
    'contract.ts',
    'semaphore.ts',
    'config',
    'service',
    'temporal',
    'budget',
    'exports',
    'feedback',
    'runs',
    'schedules',
    'activities',
    'operations',
    'organizations.ts',
    'worker-metrics.ts',
  ],
  cli: [
    'rules',
    'contract.ts',
    'files.ts',
    'http-server.ts',
    'semaphore.ts',
    'config',
    'service',
    'temporal',
    'budget',
    'exports',
    'feedback',
    'runs',
    'schedules',
    'operations',
    'console',
    'local',
    'organizations.ts',
    'worker-metrics.ts',
    'worker.ts',
  ],
  'starter.ts': ['cli'],
};

/** Packages that a room may not use, though others do; Node's own count as packages here. */
const packages = {
  '(rules|(budget|exports|feedback|runs|schedules|temporal)/rules)/': '^(?!node_modules/zod/)',
  'workflows/': '^(?!node_modules/(zod|@temporalio/(workflow|common))/)',
  '(config|service|exports|feedback|files\\.ts)': '^node_modules/@temporalio/',
  'activities/': '^node_modules/@temporalio/(?!(activity|common)/)',
  'operations/': '^node_modules/(?!@temporalio/(client|common)/)',
  'console/':
    '^node_modules/(?!(hono|@hono/node-server|openid-client|undici|ipaddr\\.js|@temporalio/(client|common))/)',
  'cli/': '^node_modules/(axios|kysely|pg|@photostructure/sqlite|@temporalio/(worker|workflow|activity))/',
};

/** A room's files: those of its `rules` folder belong to the rules. */
const room = (name) => {
  if (name === 'rules') return '^src/(rules|(budget|exports|feedback|runs|schedules|temporal)/rules)/';
  return name.endsWith('.ts') ? `^src/${name.replace('.', '\\.')}$` : `^src/${name}/(?!rules/)`;
};
const ours = '^(src|sandbox|scripts|bench|test)/';

module.exports = {
  forbidden: [
    { name: 'no-circle', severity: 'error', from: {}, to: { circular: true } },
    { name: 'unresolved', severity: 'error', from: {}, to: { couldNotResolve: true } },
    ...Object.entries(arrows).map(([name, allowed]) => ({
      name: `${name} → ${allowed.join(', ') || 'nothing'}`,
      severity: 'error',
      from: { path: room(name) },
      to: { path: ours, pathNot: [name, ...allowed].map(room).concat(exceptions(name)) },
    })),
    ...Object.entries(packages).map(([from, refused]) => ({
      name: `packages of ${from}`,
      severity: 'error',
      from: { path: `^src/${from}` },
      to: { path: refused, pathNot: ours },
    })),
    {
      name: 'the sandbox stands alone',
      severity: 'error',
      from: { path: '^sandbox/' },
      to: { path: ours, pathNot: '^sandbox/' },
    },
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    preserveSymlinks: true,
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^dist' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
};

/** Arrows that the list cannot say by room alone. */
function exceptions(name) {
  if (name === 'workflows') return ['^src/activities/'];
  // `docferry demo` and `up --sandbox` run the stand-in.
  return name === 'cli' ? ['^sandbox/index\\.ts$', '^sandbox/options\\.ts$'] : [];
}
