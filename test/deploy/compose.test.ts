import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config/load.ts';
import { complaintAbout } from '../docs/check-command.ts';

interface Service {
  image: string;
  environment?: Record<string, string>;
  healthcheck?: { test?: string[]; disable?: boolean };
  ports?: string[];
  command?: string[];
  profiles?: string[];
  volumes?: string[];
}

const compose: { services: Record<string, Service>; volumes: object } = parse(
  readFileSync('docker-compose.yml', 'utf8'),
  { merge: true },
);
const dockerfile = readFileSync('Dockerfile', 'utf8');
const services = Object.entries(compose.services);
const version: string = JSON.parse(readFileSync('package.json', 'utf8')).version;

describe('docker-compose.yml', () => {
  it('pins every image to a version, ours to this one', () => {
    const pinned =
      /^(postgres:[\w.-]+@sha256:[0-9a-f]{64}$|(temporalio\/server|temporalio\/admin-tools|temporalio\/ui|prom\/prometheus|grafana\/grafana):v?\d+\.\d+)/;
    for (const [name, { image }] of services) {
      expect(image, name).toMatch(image.startsWith('docferry') ? new RegExp(`^docferry:${version}$`) : pinned);
    }
  });

  it('has no password or key of its own', () => {
    const secrets = services.flatMap(([, { environment = {} }]) =>
      Object.entries(environment).filter(([name]) => /PASSWORD|PWD|KEY|SECRET|TOKEN/.test(name)),
    );
    expect(secrets.length).toBeGreaterThan(3);
    // Compose asks for what a profile needs even where that profile is off, so that may be missing.
    for (const [name, value] of secrets.filter(([name]) => !name.startsWith('GF_'))) {
      expect(value, name).toMatch(name === 'SEARCH_INDEX_TOKEN' ? /^\$\{[A-Z_]+:-\}$/ : /^\$\{[A-Z_]+:\?.+\}$/);
    }
    expect(compose.services.grafana?.environment).toMatchObject({
      GF_AUTH_DISABLE_LOGIN_FORM: 'true',
      GF_AUTH_BASIC_ENABLED: 'false',
      GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION: 'true',
    });
  });

  it('gives the API key to the worker and the gateway alone; the sandbox has to know which key to expect', () => {
    const holders = services.filter(([, { environment = {} }]) => 'ACME_API_KEY' in environment).map(([name]) => name);
    expect(holders).toEqual(['worker', 'gateway']);
    const named = services.filter(([, service]) => JSON.stringify(service).includes('ACME_API_KEY'));
    expect(named.map(([name]) => name)).toEqual(['worker', 'sandbox', 'gateway']);
    expect(compose.services.worker?.environment).toMatchObject(compose.services.bundles?.environment ?? {});
  });

  it('publishes ports on this machine only', () => {
    const ports = services.flatMap(([, service]) => service.ports ?? []);
    expect(ports.length).toBeGreaterThan(3);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  it('looks after the health of all that stays; the worker has that of the image', () => {
    const without = services.filter(([, { healthcheck }]) => !healthcheck?.test).map(([name]) => name);
    expect(without).toEqual(['temporal-tables', 'setup', 'worker']);
    expect(dockerfile).toContain('HEALTHCHECK');
  });

  it('has under profiles what not everybody wants', () => {
    expect(services.flatMap(([name, { profiles = [] }]) => profiles.map((profile) => [profile, name]))).toEqual([
      ['sandbox', 'sandbox'],
      ['gateway', 'gateway'],
      ['monitoring', 'prometheus'],
      ['monitoring', 'grafana'],
    ]);
  });

  it('mounts only files that are there', () => {
    const mounted = services.flatMap(([, { volumes = [] }]) => volumes).filter((volume) => volume.startsWith('./'));
    expect(mounted.length).toBeGreaterThan(3);
    for (const volume of mounted) expect(existsSync(volume.split(':')[0] ?? ''), volume).toBe(true);
  });

  it('scrapes what serves metrics, where it serves them, for the data source of the dashboards', () => {
    const { scrape_configs } = parse(readFileSync('deploy/compose/prometheus.yml', 'utf8'));
    const serving = services.filter(([, { command = [] }]) => command.includes('--metrics'));
    expect(scrape_configs).toMatchObject([
      { job_name: 'docferry', dns_sd_configs: [{ names: serving.map(([name]) => name), type: 'A', port: 9464 }] },
    ]);
    for (const [name, { command }] of serving) expect(command, name).toContain('0.0.0.0:9464');
    const { datasources } = parse(readFileSync('deploy/compose/grafana/datasources.yaml', 'utf8'));
    expect(datasources).toMatchObject([{ type: 'prometheus', url: 'http://prometheus:9090' }]);
    expect(compose.services.prometheus?.ports).toEqual(['127.0.0.1:9090:9090']);
  });

  it('gives docferry command lines that it understands', async () => {
    const given = services.flatMap(([, { image, command }]) =>
      image.startsWith('docferry:') && command ? [command] : [],
    );
    expect(given.length).toBeGreaterThan(3);
    for (const command of given) expect(await complaintAbout(command), command.join(' ')).toBeNull();
  });

  it('names in .env.example each variable that it needs', () => {
    const needed = new Set([...JSON.stringify(compose).matchAll(/\$\{([A-Z_]+):\?/g)].map(([, name]) => name));
    const named = [...readFileSync('.env.example', 'utf8').matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name);
    expect(named.sort()).toEqual([...needed].sort());
  });

  it.each(['docferry.yaml', 'sandbox.yaml'])('has a configuration that can be used: %s', (file) => {
    const env = { ACME_API_KEY: 'k' };
    const config = loadConfig({ file: join('deploy/compose', file), env, cwd: process.cwd(), secrets: 'required' });
    const tokens = { ...env, SEARCH_INDEX_TOKEN: 'a-token-of-a-program' };
    loadConfig({ file: join('deploy/compose', file), env: tokens, cwd: process.cwd(), secrets: 'gateway' });
    expect(config.temporal.given).toEqual({ address: false, namespace: false });
    const { feedback, bundles } = config.store;
    const places = [
      feedback.place,
      bundles.kind === 'directory' ? bundles.directory : '',
      ...config.organizations.flatMap(targetPaths),
    ];
    expect(places.filter((place) => !place.startsWith('/data/'))).toEqual([]);
  });
});

function targetPaths({ sites }: ReturnType<typeof loadConfig>['organizations'][number]): string[] {
  return sites.flatMap(({ rollout }) =>
    rollout.flatMap(({ place }) => {
      if (place?.kind === 'directory') return [place.settings.path];
      return place?.kind === 'helmValues' ? [place.settings.file] : [];
    }),
  );
}

describe('Dockerfile', () => {
  it('ends without root, with commands in exec form', () => {
    const lines = dockerfile.split('\n');
    const last = (instruction: string) => lines.findLast((line) => line.startsWith(`${instruction} `)) ?? '';
    expect(last('USER')).toBe('USER 1000:1000');
    expect(JSON.parse(last('ENTRYPOINT').slice('ENTRYPOINT '.length))).toEqual(['node', '/app/dist/src/starter.js']);
    expect(JSON.parse(last('CMD').slice('CMD '.length))).toEqual(['worker', '--health', '127.0.0.1:8091']);
    expect(dockerfile).toMatch(/^ARG NODE_IMAGE=node:24\.\d+\.\d+-bookworm-slim@sha256:[0-9a-f]{64}$/m);
  });

  it('copies only what the context has', () => {
    const given: string[] = readFileSync('.dockerignore', 'utf8').match(/(?<=^!).+/gm) ?? [];
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, from = '']) => from.split(' '));
    expect(copied.filter((file) => !given.includes(file))).toEqual([]);
    expect(given.filter((file) => !copied.includes(file))).toEqual([]);
  });
});
