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
  let [isEndHeld, isAsked] = [false, false];
  /** Makes undici read, unless a body waits. It reads by itself when the body goes on, but that may wait again at once. */
  const askForEnd = () => {
    isAsked = true;
    socket.emit('readable');
    isAsked = false;
  };
  socket.push = (chunk, encoding) => {
    if (chunk !== null) return push.call(socket, chunk, encoding);
    isEndHeld = true;
    process.nextTick(askForEnd);
    return false;
  };
  socket.read = (size) => {
    const chunk = read.call(socket, size);
    if (chunk !== null || size !== undefined || !isEndHeld) return chunk;
    if (!isAsked) process.nextTick(askForEnd);
    else {
      isEndHeld = false;
      push.call(socket, null);
    }
    return null;
  };
  // undici would take a reset for the end of a body without a length.
  socket.destroy = (error, ...more) => {
    const isReset = (error as NodeJS.ErrnoException | undefined)?.code === 'ECONNRESET';
    return destroy.call(socket, isReset ? new errors.SocketError('the connection was cut') : error, ...more);
  };
});
