import { createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import proto from '@temporalio/proto';
import { expect, it, onTestFinished } from 'vitest';
import { waitForResult } from '../../src/temporal/runs.ts';

const { GetSystemInfoResponse, GetWorkflowExecutionHistoryResponse } = proto.temporal.api.workflowservice.v1;

/** One message, and the status OK, as gRPC writes them. */
function answer(stream: ServerHttp2Stream, message: Uint8Array): void {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  stream.respond({ 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(Buffer.concat([prefix, message]));
}

/** A client whose Temporal says at once that a run has not ended, where a real one takes 20 s, and the last time that it has. */
async function impatientClient(times: number): Promise<{ client: Client; asked: () => number }> {
  let asked = 0;
  const ended = { events: [{ workflowExecutionCompletedEventAttributes: {} }] };
  const server = createServer();
  server.on('stream', (stream, { ':path': path = '' }) => {
    if (!path.endsWith('/GetWorkflowExecutionHistory'))
      return answer(stream, GetSystemInfoResponse.encode({}).finish());
    asked += 1;
    const history = asked < times ? { events: [] } : ended;
    answer(stream, GetWorkflowExecutionHistoryResponse.encode({ history }).finish());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const channelArgs = { 'grpc.enable_http_proxy': 0 };
  const connection = await Connection.connect({ address: `127.0.0.1:${port}`, channelArgs });
  onTestFinished(() => connection.close());
  return { client: new Client({ connection }), asked: () => asked };
}

it('a long wait leaves no listener for each of its requests, of which Node would warn', async () => {
  const { client, asked } = await impatientClient(50);
  const warnings: string[] = [];
  const note = ({ message }: Error) => warnings.push(message);
  process.on('warning', note);
  onTestFinished(() => void process.off('warning', note));
  await waitForResult(client, client.workflow.getHandle('any'), {});
  // Node warns in the next turn of its loop.
  await setImmediate();
  expect(asked()).toBe(50);
  expect(warnings).toEqual([]);
});
