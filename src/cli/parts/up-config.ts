import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { SandboxOptions } from '../../../sandbox/index.ts';
import type { Config } from '../../config/config.ts';
import type { TemporalSettings } from '../../temporal/connection.ts';
import { type CommandContext, loadContextConfig } from '../context.ts';
import { sandboxConfigText, usualSandbox } from './sandbox-part.ts';

export interface SandboxPorts {
  sandboxPort: number;
  storagePort: number;
}

interface UpPorts extends SandboxPorts {
  /** Temporal's. */
  port: number;
  bundlePort: number;
}

/**
 * The configuration of `up`. With `--sandbox`, a folder without one gets one, which the other commands then find too; a
 * named configuration must exist.
 */
export async function loadUpConfig(
  context: CommandContext,
  { sandbox, port, sandboxPort, bundlePort }: UpPorts & { sandbox: boolean },
): Promise<Config> {
  const named = context.configFile ?? context.env.DOCFERRY_CONFIG;
  if (sandbox && !named) {
    const text = sandboxConfigText({ ...usualSandbox, temporalPort: port, sandboxPort, bundlePort });
    const file = resolve(context.cwd, 'docferry.yaml');
    if (await writeIfAbsent(file, text)) context.output.note(`wrote ${file} for the sandbox`);
  }
  return loadContextConfig(context, 'required');
}

async function writeIfAbsent(file: string, text: string): Promise<boolean> {
  try {
    await writeFile(file, text, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

/** A sandbox with the configured organizations, projects and sites, and its own keys. */
export function sandboxOptionsFor(
  { organizations }: Config,
  { sandboxPort, storagePort }: SandboxPorts,
): SandboxOptions {
  return {
    port: sandboxPort,
    storagePort,
    organizations: organizations.map(({ id, projects, sites }) => ({
      id,
      projects: projects.map((project) => ({ id: project.id })),
      domains: sites.map(({ domain }) => domain),
    })),
  };
}

/** The configuration, pointed at the server that this process runs. */
export function withEmbedded(config: Config, address: string): Config {
  const temporal: Config['temporal'] & TemporalSettings = { ...config.temporal, address, embedded: true };
  return { ...config, temporal };
}
