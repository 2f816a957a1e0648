import { spawnSync } from 'node:child_process';
import { mkdir, open, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';

/** A download leaves 64 MiB of the disk free. */
const size = 160 * 1024 ** 2;
const piece = Buffer.alloc(4 * 1024 ** 2);

/** A file system of its own for bundles and released sites, which can be filled up; an ordinary folder without root. */
export class SmallDisk {
  readonly path: string;
  readonly canFill: boolean;

  private constructor(path: string, canFill: boolean) {
    this.path = path;
    this.canFill = canFill;
  }

  static async make(path: string): Promise<SmallDisk> {
    await mkdir(path);
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', path]).status === 0;
    if (!mounted) process.stderr.write('the disk is never full: a tmpfs can only be mounted by root\n');
    return new SmallDisk(path, mounted);
  }

  /** Until this many bytes are free. */
  async fillUpTo(free: number): Promise<void> {
    const { bavail, bsize } = await statfs(this.path);
    const file = await open(this.#filler, 'a');
    try {
      for (let left = bavail * bsize - free; left > 0; left -= piece.length) {
        await file.write(piece, 0, Math.min(left, piece.length));
      }
    } finally {
      await file.close();
    }
  }

  async free(): Promise<void> {
    await rm(this.#filler, { force: true });
  }

  end(): void {
    if (this.canFill) spawnSync('umount', ['-l', this.path]);
  }

  get #filler(): string {
    return join(this.path, 'filler');
  }
}
