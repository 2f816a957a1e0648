import { readFileSync } from 'node:fs';

/**
 * Loaded into a worker by `NODE_OPTIONS=--import`: its clock is off by what the file CLOCK_FILE says, in milliseconds,
 * from one moment to the next. Its monotonic clock goes on, as after a step of the system's clock.
 */
const RealDate = globalThis.Date;
let offset = 0;

function readOffset() {
  try {
    offset = Number(readFileSync(process.env.CLOCK_FILE, 'utf8')) || 0;
  } catch {
    // Just being replaced.
  }
}

readOffset();
setInterval(readOffset, 250).unref();

const now = () => RealDate.now() + offset;
globalThis.Date = new Proxy(RealDate, {
  apply: () => new RealDate(now()).toString(),
  construct: (target, args, made) => Reflect.construct(target, args.length === 0 ? [now()] : args, made),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});
RealDate.prototype.constructor = globalThis.Date;
