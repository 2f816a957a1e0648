/** What a peer's program is told by its environment. */
export interface PeerEnvironment {
  PEER_SERVICE: string;
  PEER_KEY: string;
  PEER_PROJECT: string;
  /** Requests a window, and its length in milliseconds. */
  PEER_REQUESTS: string;
  PEER_WINDOW_MS: string;
  /** Address of Temporal, for peers on it. */
  PEER_TEMPORAL: string;
}

export interface PeerSettings {
  service: string;
  key: string;
  project: string;
  requests: number;
  windowMs: number;
  temporal: string;
}

/** Throws an Error naming the variable that is missing. */
export function peerSettings(env: NodeJS.ProcessEnv): PeerSettings {
  const text = (name: keyof PeerEnvironment): string => {
    const value = env[name];
    if (!value) throw new Error(`${name} is not set: this program is started by the benchmark`);
    return value;
  };
  return {
    service: text('PEER_SERVICE'),
    key: text('PEER_KEY'),
    project: text('PEER_PROJECT'),
    requests: Number(text('PEER_REQUESTS')),
    windowMs: Number(text('PEER_WINDOW_MS')),
    temporal: text('PEER_TEMPORAL'),
  };
}
