import { devServerTool, resolveBinary } from '../../../src/local/binaries.ts';
import { TemporalBinaryMissing, type Tool } from '../../../src/local/run-command.ts';
import { testServerTool } from '../temporal/test-server-tool.ts';
import { s3TestServerTool } from './s3-server-tool.ts';

const print = (line: string) => process.stdout.write(`${line}\n`);

/** Finds or gets the servers that `up` and the tests need, and says where they are. */
for (const tool of [devServerTool, testServerTool]) {
  if (!(await prepare(tool))) process.exitCode = 1;
}
if (!(await prepare(s3TestServerTool))) print('the tests of the S3 store will be skipped');

async function prepare(tool: Tool): Promise<boolean> {
  try {
    const { path, version, from } = await resolveBinary(tool, { onProgress: print });
    print(`${tool.title}: ${path} (${version}, from ${from})`);
    return true;
  } catch (error) {
    if (!(error instanceof TemporalBinaryMissing)) throw error;
    print(`${error.message}\n${error.hint}`);
    return false;
  }
}
