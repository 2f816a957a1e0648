import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);
const built = fileURLToPath(new URL('../../dist/src/cli/parts.js', import.meta.url));

/** Most of the heap that a program held which always keeps a little, and drops what it has kept for a while. */
async function mostHeap(setUp: string): Promise<number> {
  const program = `
    import { getHeapStatistics } from 'node:v8';
    import { keepHeapLean } from ${JSON.stringify(built)};
    ${setUp}
    const kept = [];
    let most = 0;
    for (let n = 0; n < 4_000_000; n += 1) {
      kept[n % 200_000] = { n, text: [n, n + 1, n + 2, n + 3] };
      if (n % 10_000 === 0) most = Math.max(most, getHeapStatistics().used_heap_size);
    }
    console.log(most);`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program]);
  return Number(stdout);
}

describe('keepHeapLean', () => {
  it('keeps garbage from piling up', async () => {
    const [lean, usual] = [await mostHeap('keepHeapLean();'), await mostHeap('')];
    expect(lean).toBeLessThan(usual * 0.7);
  });
});
