import { type Sandbox, type SandboxOptions, startSandbox } from '../../../sandbox/index.ts';
import { assertPortFree } from '../../local/ports.ts';
import { usageFailure } from '../cli-failure.ts';
import { never, type Part } from './running-parts.ts';

/** Starts the sandbox in this process; `flags` are the options that change its ports. Throws `PortTaken`. */
export async function startSandboxPart(
  options: SandboxOptions,
  flags: { port: string; storagePort: string },
): Promise<{ sandbox: Sandbox; part: Part }> {
  const { port = 0, storagePort = 0 } = options;
  if (port !== 0) await assertPortFree(port, flags.port);
  if (storagePort !== 0) await assertPortFree(storagePort, flags.storagePort);
  try {
    const sandbox = await startSandbox(options);
    return { sandbox, part: { name: 'the sandbox', ended: never, stop: () => sandbox.stop() } };
  } catch (error) {
    // An error without a system code is the sandbox refusing an option.
    if (error instanceof Error && !('code' in error)) throw usageFailure(error.message);
    throw error;
  }
}
