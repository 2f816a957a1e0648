import { createServer } from 'node:http';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { listen } from '../../src/http-server.ts';
import { docferry, folderWithConfig } from '../tools/cli/run-docferry.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

it.each([
  [{}, 1],
  [{ OTEL_SDK_DISABLED: 'true' }, 0],
  [{ OTEL_TRACES_EXPORTER: 'none' }, 0],
])("sends spans to a collector, unless OpenTelemetry's own variables switch that off: %j", async (variables, sent) => {
  let requests = 0;
  const collector = createServer((_request, response) => {
    requests += 1;
    response.end();
  });
  onTestFinished(() => void collector.close().closeAllConnections());
  const { url } = await listen(collector, { host: '127.0.0.1', port: 0 });
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', url);
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: url, ...variables };
  const { exitCode } = await docferry(['config', 'check'], { cwd: await folderWithConfig(), env });
  expect([exitCode, requests]).toEqual([0, sent]);
});
