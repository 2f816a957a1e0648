import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../src/config/load.ts';

interface Service {
  image: string;
  environment?: Record<string, string>;
  healthcheck?: { test?: string[]; disable?: boolean };
  ports?: string[];
  command?: string[];
  profiles?: string[];
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
    const pinned = /^(postgres|temporalio\/auto-setup|temporalio\/ui):\d+\.\d+/;
    for (const [name, { image }] of services) {
      expect(image, name).toMatch(image.startsWith('docferry') ? new RegExp(`^docferry:${version}$`) : pinned);
    }
  });

  it('has no password or key of its own', () => {
    const secrets = services.flatMap(([, { environment = {} }]) =>
      Object.entries(environment).filter(([name]) => /PASSWORD|PWD|KEY|SECRET|TOKEN/.test(name)),
    );
    expect(secrets.length).toBeGreaterThan(2);
    for (const [name, value] of secrets) expect(value, name).toMatch(/^\$\{[A-Z_]+:\?.+\}$/);
  });

  it('gives the API key to the worker alone; the sandbox has to know which key to expect', () => {
    const holders = services.filter(([, { environment = {} }]) => 'ACME_API_KEY' in environment).map(([name]) => name);
    expect(holders).toEqual(['worker']);
    const named = services.filter(([, service]) => JSON.stringify(service).includes('ACME_API_KEY'));
    expect(named.map(([name]) => name)).toEqual(['worker', 'sandbox']);
    expect(compose.services.worker?.environment).toMatchObject(compose.services.bundles?.environment ?? {});
  });

  it('publishes ports on this machine only', () => {
    const ports = services.flatMap(([, service]) => service.ports ?? []);
    expect(ports.length).toBeGreaterThan(3);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  it('looks after the health of all that stays; the worker has that of the image', () => {
    const without = services.filter(([, { healthcheck }]) => !healthcheck?.test).map(([name]) => name);
    expect(without).toEqual(['setup', 'worker']);
    expect(dockerfile).toContain('HEALTHCHECK');
  });

  it('has the sandbox under a profile, and the rest without', () => {
    expect(services.filter(([, { profiles }]) => profiles).map(([name]) => name)).toEqual(['sandbox']);
  });

  it('names in .env.example each variable that it needs', () => {
    const needed = new Set([...JSON.stringify(compose).matchAll(/\$\{([A-Z_]+):\?/g)].map(([, name]) => name));
    const named = [...readFileSync('.env.example', 'utf8').matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name);
    expect(named.sort()).toEqual([...needed].sort());
  });

  it.each(['docferry.yaml', 'sandbox.yaml'])('has a configuration that can be used: %s', (file) => {
    const env = { ACME_API_KEY: 'k' };
    const config = loadConfig({ file: join('deploy/compose', file), env, cwd: process.cwd(), secrets: 'required' });
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
    rollout.map((target) => (target.kind === 'directory' ? target.path : target.file)),
  );
}

describe('Dockerfile', () => {
  it('ends without root, with commands in exec form', () => {
    const lines = dockerfile.split('\n');
    const last = (instruction: string) => lines.findLast((line) => line.startsWith(`${instruction} `)) ?? '';
    expect(last('USER')).toBe('USER 1000:1000');
    expect(JSON.parse(last('ENTRYPOINT').slice('ENTRYPOINT '.length))).toEqual(['node', '/app/dist/src/starter.js']);
    expect(JSON.parse(last('CMD').slice('CMD '.length))).toEqual(['worker', '--health', '127.0.0.1:8091']);
    expect(dockerfile).toMatch(/^ARG NODE_IMAGE=node:20\.\d+\.\d+-bookworm-slim$/m);
  });

  it('copies only what the context has', () => {
    const given: string[] = readFileSync('.dockerignore', 'utf8').match(/(?<=^!).+/gm) ?? [];
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, from = '']) => from.split(' '));
    expect(copied.filter((file) => !given.includes(file))).toEqual([]);
    expect(given.filter((file) => !copied.includes(file))).toEqual([]);
  });
});
