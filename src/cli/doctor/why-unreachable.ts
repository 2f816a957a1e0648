import { createConnection } from 'node:net';

const connectWithinMs = 3_000;

/** Why no Temporal answers at an address, found out with a bare connection. */
export async function whyUnreachable(address: string, tls: boolean): Promise<{ detail: string; fix: string }> {
  const [, host = address, port = '7233'] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(address) ?? [];
  const code = await connect(host, Number(port));
  switch (code) {
    case null: {
      const detail = `something listens there, but not a Temporal ${tls ? 'with' : 'without'} TLS that accepts us`;
      const fix = tls
        ? 'check TEMPORAL_API_KEY, or the certificates that TEMPORAL_TLS_… or the profile name'
        : 'set TEMPORAL_TLS=true (or the profile) if the server wants TLS, else correct temporal.address';
      return { detail, fix };
    }
    case 'ECONNREFUSED':
      return { detail: 'nothing listens there', fix: 'start Temporal (`docferry up`), or correct temporal.address' };
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return { detail: 'its name is unknown', fix: 'correct temporal.address or TEMPORAL_ADDRESS' };
    default:
      return { detail: `it cannot be reached (${code})`, fix: 'check the address, the network and its firewalls' };
  }
}

/** Null when the connection succeeds, else the system's code. */
function connect(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = createConnection({ host, port });
    const end = (code: string | null) => {
      socket.destroy();
      resolve(code);
    };
    socket.setTimeout(connectWithinMs, () => end('ETIMEDOUT'));
    socket.once('connect', () => end(null));
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code ?? 'unknown'));
  });
}
