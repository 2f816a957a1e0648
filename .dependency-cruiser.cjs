const swc = require('@swc/core');

// dependency-cruiser reads TypeScript by swc without JSX, and has no setting for it.
const { parseFileSync } = swc;
swc.parseFileSync = (file, options) => parseFileSync(file, { ...options, tsx: file.endsWith('.tsx') });

/**
 * Which room of src may import which, types included: what is not listed is refused. `npm run lint` reads it, and
 * `npm run graph` prints it for docs/architecture.md.
 */
const arrows = {
  model: [],
  'http-server.ts': ['model'],
  files: [],
  report: ['model'],
  webhooks: ['model'],
  metrics: ['model'],
  config: ['model'],
  service: ['model'],
  feedback: ['model', 'files'],
  bundle: ['model', 'files', 'http-server.ts'],
  rollout: ['model', 'files', 'bundle'],
  permits: ['model'],
  gateway: ['model', 'http-server.ts', 'permits', 'service'],
  embedded: ['model', 'files'],
  workflows: ['model'],
  client: ['model', 'workflows'],
  overview: ['model', 'client', 'feedback', 'bundle'],
  console: ['model', 'http-server.ts', 'client', 'feedback', 'bundle', 'report', 'overview'],
  activities: ['model', 'metrics', 'permits', 'service', 'feedback', 'bundle', 'rollout', 'webhooks'],
  wiring: ['model', 'metrics', 'config', 'service', 'feedback', 'bundle', 'rollout', 'activities'],
  'worker.ts': ['model', 'metrics', 'config', 'service', 'feedback', 'bundle', 'client', 'activities', 'wiring'],
  'replay.ts': ['model'],
  cli: [
    'model',
    'files',
    'http-server.ts',
    'config',
    'client',
    'feedback',
    'bundle',
    'rollout',
    'report',
    'overview',
    'console',
    'embedded',
    'gateway',
    'wiring',
    'worker.ts',
    'replay.ts',
  ],
  'starter.ts': ['cli'],
};

/** Packages that a room may not use, though others do; Node's own count as packages here. */
const packages = {
  'model/': '.',
  'workflows/': '^(?!node_modules/@temporalio/(workflow|common)/)',
  '(report|webhooks|config|service|feedback|bundle|rollout|files|permits|gateway)/': '^node_modules/@temporalio/',
  'metrics/': '^node_modules/@temporalio/(?!common/)',
  'activities/': '^node_modules/@temporalio/(?!(activity|common)/)',
  'overview/': '^node_modules/(?!@temporalio/client/)',
  'console/': '^node_modules/(?!(hono|@hono/node-server|openid-client|ipaddr\\.js|@temporalio/(client|common))/)',
  'client/': '^node_modules/@temporalio/(worker|workflow|activity)/',
  'cli/': '^node_modules/(axios|kysely|pg|@photostructure/sqlite|@temporalio/(worker|workflow|activity))/',
};

const room = (name) => (name.endsWith('.ts') ? `^src/${name.replace('.', '\\.')}$` : `^src/${name}/`);
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
