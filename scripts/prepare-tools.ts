import { devServerTool, resolveBinary, testServerTool } from '../src/embedded/binaries.ts';
import { TemporalBinaryMissing } from '../src/embedded/embedded-errors.ts';

const print = (line: string) => process.stdout.write(`${line}\n`);

/** Finds or gets both Temporal servers that `up` and the tests need, and says where they are. */
try {
  for (const tool of [devServerTool, testServerTool]) {
    const { path, version, from } = await resolveBinary(tool, { onProgress: print });
    print(`${tool.title}: ${path} (${version}, from ${from})`);
  }
} catch (error) {
  if (!(error instanceof TemporalBinaryMissing)) throw error;
  print(`${error.message}\n${error.hint}`);
  process.exitCode = 1;
}
