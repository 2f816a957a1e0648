import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { errors } from 'undici';

export { Agent, buildConnector, type Dispatcher, errors, fetch, ProxyAgent, request } from 'undici';

/*
 * undici 7 ends the process (`assert(!this.paused)`) when a connection ends that was not to be kept, while its body waits
 * for its reader. Its version 8 does not, but needs Node 22. Import undici from here only.
 */
subscribe('undici:client:connected', (message) => {
  const { socket } = message as { socket: Socket };
  const { destroy, push, read } = socket;
  let isEnding = false;
  socket.push = (chunk, encoding) => {
    isEnding ||= chunk === null;
    return push.call(socket, chunk, encoding);
  };
  // Node reads nothing to learn of the end, and with the last bytes. Now only a further read does, which a waiting body
  // puts off.
  socket.read = (size) => {
    if (isEnding && size === 0) return null;
    return read.call(socket, size ?? (socket.readableLength || undefined));
  };
  // undici would take a reset for the end of a body without a length.
  socket.destroy = (error) => {
    const isReset = error !== undefined && 'code' in error && error.code === 'ECONNRESET';
    return destroy.call(socket, isReset ? new errors.SocketError('the connection was cut') : error);
  };
});
