import { runCommand, timeLimit } from './run-command.ts';
import type { MakeContext } from './tool.ts';

const limitMs = 20 * 60_000;
const reportEveryMs = 5_000;

/** Builds the `temporal` CLI of a version like `1.5.1` from source with the Go on the PATH (about 2 minutes from scratch). */
export async function buildWithGo(version: string, { folder, env, onProgress }: MakeContext): Promise<void> {
  let packages = 0;
  let reportedAt = performance.now();
  const onLine = (line: string) => {
    packages += line.startsWith('go: ') ? 0 : 1;
    if (performance.now() - reportedAt < reportEveryMs) return;
    reportedAt = performance.now();
    onProgress(packages === 0 ? line : `go install: ${packages} packages compiled`);
  };
  const linkerFlags = `-s -w -X github.com/temporalio/cli/temporalcli.Version=${version}`;
  const args = ['install', '-v', '-ldflags', linkerFlags, `github.com/temporalio/cli/cmd/temporal@v${version}`];
  await runCommand('go', args, { env: { ...env, GOBIN: folder }, cwd: folder, signal: timeLimit(limitMs), onLine });
}
