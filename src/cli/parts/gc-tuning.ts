import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The old generation is collected when it has grown by this much since the last collection. */
const growthPercent = 25;

/**
 * Keeps the heap of a long-running process near its live size: by default V8 lets the garbage of a long pass grow to
 * hundreds of megabytes before the first collection. Call it once everything is loaded, because growth
 * is counted from the size at that moment.
 */
export function keepHeapLean(): void {
  setFlagsFromString(`--heap-growing-percent=${growthPercent}`);
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') collect();
}
