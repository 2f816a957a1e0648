import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The old generation is collected when it has grown by this much since the collection before. */
const growthPercent = 15;

/**
 * Keeps the heap of a long-running process near what it really uses: left alone, V8 lets garbage of a long pass grow to
 * hundreds of megabytes before it collects for the first time (docs/decisions/0047). Call it once everything is loaded:
 * the size at that moment is what growth is counted from.
 */
export function keepHeapLean(): void {
  setFlagsFromString(`--heap-growing-percent=${growthPercent}`);
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') collect();
}
