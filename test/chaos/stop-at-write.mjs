import { renameSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join } from 'node:path';

/**
 * Loaded into a worker by `NODE_OPTIONS=--import`: stops the process with SIGSTOP right `before` or right `after` the
 * bytes of a request for feedback are handed to the operating system, when a file `armed-before` or `armed-after` in
 * STOP_FOLDER says so. That is after the last check of the lease, in the same turn of the event loop: no code of the
 * worker runs in between. Whoever renames the file first is the one that stops.
 */
const folder = process.env.STOP_FOLDER;
const handToSystem = net.Socket.prototype._writeGeneric;

net.Socket.prototype._writeGeneric = function (several, data, encoding, callback) {
  const place = isRequest(several ? data[0]?.chunk : data) ? takeOrder() : null;
  if (place === 'before') stop();
  handToSystem.call(this, several, data, encoding, callback);
  if (place === 'after') stop();
};

function isRequest(chunk) {
  return typeof chunk === 'string' && chunk.startsWith('GET /v1/analytics/');
}

function takeOrder() {
  for (const place of ['before', 'after']) {
    try {
      renameSync(join(folder, `armed-${place}`), join(folder, `stopping-${process.pid}`));
      return place;
    } catch {
      // Not armed, or another process was faster.
    }
  }
  return null;
}

function stop() {
  const since = performance.now();
  process.kill(process.pid, 'SIGSTOP');
  const written = join(folder, `lasted-${process.pid}`);
  writeFileSync(written, `${performance.now() - since}`);
  // Whoever waits for the name finds the whole content.
  renameSync(written, join(folder, `went-on-${process.pid}`));
}
