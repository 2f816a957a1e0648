import type { Readable } from 'node:stream';
import { interruption } from './interrupted.ts';
import type { PieceWriter } from './partial-file.ts';
import type { ReadBuffers } from './read-buffers.ts';

export interface Receiving {
  reads: ReadBuffers;
  /** Called before each chunk is taken; what it throws ends the transfer. */
  onChunk: (bytes: number) => void;
  /** Called when bytes are on disk. */
  onWritten: () => void;
}

/**
 * Writes a body to the disk, and holds its source back while the disk is slower. When it settles all that came is on
 * disk, also where the body broke off. Throws `Interrupted`, the disk's error, or that of `onChunk`.
 */
export async function receiveBody(
  body: Readable,
  writer: PieceWriter,
  { reads, onChunk, onWritten }: Receiving,
): Promise<void> {
  const mostPending = 2 * reads.bytes;
  try {
    await new Promise<void>((resolve, reject) => {
      // Chunks one by one as they were read: an iterator would join, and so copy, them.
      body.on('data', (chunk: Buffer) => {
        try {
          onChunk(chunk.length);
        } catch (error) {
          return reject(error);
        }
        writer.write(chunk, () => {
          reads.give(chunk);
          onWritten();
          if (writer.pending < mostPending) body.resume();
        });
        if (writer.pending < mostPending) return;
        body.pause();
        writer.settled().catch(reject);
      });
      body.on('end', resolve).on('error', (error) => reject(interruption(error)));
      // Also when it broke off before anybody listened.
      body.on('close', () => reject(interruption(body.errored)));
      if (body.closed) reject(interruption(body.errored));
    });
  } finally {
    body.destroy();
    await writer.settled();
  }
}
