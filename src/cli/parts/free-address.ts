import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { errorCode } from '../../files.ts';
import { CliFailure, exitCodes, usageFailure } from '../failure.ts';
import type { HostAndPort } from '../flags.ts';

/**
 * Finds out whether this process could listen there. Throws a failure with exit code 2 that names the flag.
 *
 * @returns `ip:port`
 */
export async function freeAddress(flag: string, { host, port }: HostAndPort): Promise<string> {
  try {
    const { address, family } = await lookup(host);
    const server = createServer();
    server.listen(port, address);
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
    return family === 6 ? `[${address}]:${port}` : `${address}:${port}`;
  } catch (error) {
    throw cannotListen(flag, `${host}:${port}`, errorCode(error));
  }
}

function cannotListen(flag: string, address: string, code: string | undefined): CliFailure {
  if (code === 'EADDRINUSE') {
    const hint = `stop what listens there, or choose another port with ${flag}`;
    return new CliFailure({ code: 'PortTaken', message: `${address} is taken`, hint, exitCode: exitCodes.usage });
  }
  const hint = 'use an address of this machine, such as 127.0.0.1, and a port from 1024 on';
  return usageFailure(`${flag}: cannot listen on ${address} (${code ?? 'unknown'})`, hint);
}
