export interface ServerSettings {
  port: number;
  /** `host:port` of the UI; null for none. */
  ui: string | null;
  namespace: string;
  /** Absolute; undefined keeps everything in memory. */
  dbFile: string | undefined;
}

/** Measured on server 1.29: an activity costs 21 ms instead of 100, a short timer is 50 ms late instead of 1 s. */
const dynamicConfig = {
  'history.transferProcessorMaxPollRPS': 2000,
  'history.timerProcessorMaxTimeShift': '50ms',
  'system.enableActivityEagerExecution': true,
  // The check would contact Temporal's servers.
  'frontend.enableServerVersionCheck': false,
  // The HTTP API, which nothing here uses, would answer a page of another site under any name, at a random port.
  'frontend.httpAllowedHosts': [],
};

/** Arguments of `temporal server start-dev`: loopback only, tuned, no outside contact, a quiet log as JSON. */
export function serverArguments({ port, ui, namespace, dbFile }: ServerSettings): string[] {
  const [uiHost = '', uiPort = ''] = ui?.split(':') ?? [];
  return [
    'server',
    'start-dev',
    ...['--ip', '127.0.0.1', '--port', String(port)],
    ...(ui === null ? ['--headless'] : ['--ui-ip', uiHost, '--ui-port', uiPort]),
    ...['--namespace', namespace],
    ...['--log-level', 'warn', '--log-format', 'json', '--color', 'never'],
    ...(dbFile === undefined ? [] : ['--db-filename', dbFile]),
    ...Object.entries(dynamicConfig).flatMap(([key, value]) => [
      '--dynamic-config-value',
      `${key}=${JSON.stringify(value)}`,
    ]),
  ];
}
