import { open, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { syncPath, tempName } from '../bundle/files/durable-file.ts';

/**
 * Gives an existing file new content, whole or not at all and for good when this returns. Its mode stays, and a
 * symbolic link stays a link, to the same file. Throws system errors.
 */
export async function replaceFile(path: string, content: string): Promise<void> {
  const file = await realpath(path);
  const { mode, uid, gid } = await stat(file);
  const temp = tempName(join(dirname(file), `.${basename(file)}`));
  try {
    const handle = await open(temp, 'wx', 0o600);
    try {
      await handle.writeFile(content);
      // Only root may give files away; for everybody else the file is their own already or becomes it.
      await handle.chown(uid, gid).catch(() => undefined);
      await handle.chmod(mode & 0o7777);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temp, file);
  } finally {
    await rm(temp, { force: true });
  }
  await syncPath(dirname(file));
}
