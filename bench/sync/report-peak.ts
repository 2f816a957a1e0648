import { readFileSync, writeFileSync } from 'node:fs';
import { memoryIn } from '../tools/process-memory.ts';

/* Loaded into a program (`node --import`) that is measured: at its end the peak of its memory goes into a file. */

export const peakFileVariable = 'DOCFERRY_BENCH_PEAK';

const file = process.env[peakFileVariable];
if (file !== undefined) {
  process.once('exit', () => writeFileSync(file, `${memoryIn(readFileSync('/proc/self/status', 'utf8')).peak}`));
}
