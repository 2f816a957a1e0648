import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { MakeContext } from '../../../src/local/run-command.ts';
import { runCommand, timeLimit } from '../../../src/local/run-command.ts';

const limitMs = 10 * 60_000;
const copyGoal = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';

/** The folder is found at run time, because the cache renames it into place. */
const wrapper = `#!/bin/sh
folder=$(cd "\${0%/*}" && pwd) || exit 1
exec "\${JAVA_HOME:+$JAVA_HOME/bin/}java" -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$folder/lib/*" io.temporal.testserver.TestServer "$@"
`;

/** Fetches the time-skipping test server of a version like `1.31.0` with the Maven on the PATH; it runs on Java 11 or newer. */
export async function fetchWithMaven(version: string, executable: string, context: MakeContext): Promise<void> {
  const { folder, env, onProgress } = context;
  await writeFile(join(folder, 'pom.xml'), projectFor(version));
  // Refuses a library whose checksum is not the one that the repository has beside it, or that has none.
  const args = [
    '--batch-mode',
    '--strict-checksums',
    '--no-transfer-progress',
    copyGoal,
    `-DoutputDirectory=${join(folder, 'lib')}`,
  ];
  onProgress('fetching its libraries with Maven');
  await runCommand('mvn', args, { env, cwd: folder, signal: timeLimit(limitMs) });
  await writeFile(join(folder, executable), wrapper, { mode: 0o755 });
}

function projectFor(version: string): string {
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>docferry</groupId>
  <artifactId>test-server</artifactId>
  <version>1</version>
  <dependencies>
    <dependency>
      <groupId>io.temporal</groupId>
      <artifactId>temporal-test-server</artifactId>
      <version>${version}</version>
    </dependency>
    <dependency>
      <groupId>org.slf4j</groupId>
      <artifactId>slf4j-nop</artifactId>
      <version>1.7.36</version>
    </dependency>
  </dependencies>
</project>
`;
}
