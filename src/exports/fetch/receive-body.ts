import type { Readable } from 'node:stream';
import { interruption } from './interrupted.ts';
import type { RangeWriter } from './partial-file.ts';
import type { ReadBuffers } from '../../read-buffers.ts';

export interface BodyReceiver {
  buffers: ReadBuffers;
  /** Called before each chunk is taken; what it throws ends the transfer. */
  onChunk: (bytes: number) => void;
  /** Called when bytes are on disk. */
  onWritten: () => void;
}

/**
 * Writes a body to the disk, pausing its source while the disk is slower. Once it settles, every byte received is on
 * disk, even when the body broke off. Throws `Interrupted`, the disk's error, or that of `onChunk`.
 */
export async function receiveBody(
  body: Readable,
  writer: RangeWriter,
  { buffers, onChunk, onWritten }: BodyReceiver,
): Promise<void> {
  const mostPending = 2 * buffers.bytes;
  try {
    await new Promise<void>((resolve, reject) => {
      // An iterator would join chunks, and so copy them.
      body.on('data', (chunk: Buffer) => {
        try {
          onChunk(chunk.length);
        } catch (error) {
          return reject(error);
        }
        writer.write(chunk, () => {
          buffers.release(chunk);
          onWritten();
          if (writer.pending < mostPending) body.resume();
        });
        if (writer.pending < mostPending) return;
        body.pause();
        writer.settled().catch(reject);
      });
      body.on('end', resolve).on('error', (error) => reject(interruption(error)));
      // It may have broken off before these listeners were added.
      body.on('close', () => reject(interruption(body.errored)));
      if (body.closed) reject(interruption(body.errored));
    });
  } finally {
    body.destroy();
    await writer.settled();
  }
}
