import type { Config } from '../../config/config.ts';
import { ConfigError } from '../../config/config-error.ts';
import { type CommandContext, loadContextConfig } from '../context.ts';
import { bad, type Check, good } from './check.ts';

/** The configuration, if it is usable; keys have checks of their own. */
export async function checkConfiguration(context: CommandContext): Promise<{ config: Config | null; check: Check }> {
  try {
    const config = await loadContextConfig(context);
    const { file, organizations } = config;
    const projects = organizations.flatMap((organization) => organization.projects).length;
    const sites = organizations.flatMap((organization) => organization.sites).length;
    const counts = `organizations ${organizations.length}, projects ${projects}, sites ${sites}`;
    return { config, check: good('configuration', `${file}: ${counts}`) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const [title, ...problems] = error.message.split('\n  ');
    const detail = problems.length === 0 ? String(title) : `${title} ${problems.join('; ')}`;
    const fix = error.hint ?? 'correct the file; docs/configuration.md has every field';
    return { config: null, check: bad('configuration', detail, fix) };
  }
}
