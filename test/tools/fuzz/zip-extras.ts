import { crc32 } from 'node:zlib';
import { extra, narrow, wide } from '../archives/zip-bytes.ts';
import type { Random } from './random.ts';

const seconds = 1_700_000_000;
/** A time of Windows: tenths of a microsecond since 1601. */
const windowsTime = Buffer.from('00803ed5deb19d01', 'hex');
const ids = Buffer.from('0104e803000004e8030000', 'hex');

/** Extra fields that common writers add, for the local header and for the directory. */
const sound: readonly (readonly [Buffer, Buffer])[] = [
  pair(extra(0x5455, Buffer.concat([Buffer.from([1]), narrow(seconds)]))),
  [
    extra(0x5455, Buffer.concat([Buffer.from([3]), narrow(seconds, seconds)])),
    extra(0x5455, Buffer.concat([Buffer.from([3]), narrow(seconds)])),
  ],
  pair(extra(0x7875, ids)),
  [
    extra(0x5855, Buffer.concat([narrow(seconds, seconds), Buffer.from('e803e803', 'hex')])),
    extra(0x5855, narrow(seconds, seconds)),
  ],
  [extra(0x7855, Buffer.from('e803e803', 'hex')), extra(0x7855, Buffer.alloc(0))],
  pair(
    extra(0x000a, Buffer.concat([Buffer.alloc(4), Buffer.from([1, 0, 24, 0]), windowsTime, windowsTime, windowsTime])),
  ),
  pair(extra(0xcafe, Buffer.alloc(0))),
];

const knownIds = [0x0001, 0x5455, 0x7875, 0x5855, 0x7855, 0x000a, 0xcafe, 0x7075];
const otherIds = [
  0x0007, 0x0009, 0x000d, 0x0017, 0x07c8, 0x2605, 0x334d, 0x4453, 0x4b46, 0x4c41, 0x6375, 0x6542, 0x6c78, 0x7441,
  0x756e, 0x9901, 0xa11e, 0xd935, 0xe57a, 0xffff,
];

/** Fields as common writers make them for an entry of this name: one for the local header, one for the directory. */
export function soundExtra(random: Random, name: Buffer): readonly [Buffer, Buffer] {
  if (random.chance(0.1)) return pair(unicodePath(1, crc32(name), name));
  const made = random.pick(sound);
  return random.chance(0.8)
    ? made
    : random.pick([
        [made[0], Buffer.alloc(0)],
        [Buffer.alloc(0), made[1]],
      ] as const);
}

/** A field that is unusual or wrong, for an entry of this name. */
export function oddExtra(random: Random, name: Buffer): Buffer {
  switch (random.below(7)) {
    case 0:
      return random.bytes(random.below(12));
    case 1: {
      const path = random.chance(0.6) ? name : Buffer.from('other.html');
      const version = random.chance(0.8) ? 1 : 2;
      const crc = random.chance(0.8) ? crc32(name) : 1;
      return unicodePath(version, crc, path);
    }
    case 2:
      return extra(1, wide(...Array.from({ length: 1 + random.below(3) }, () => random.pick([0, 1, 100]))));
    case 3:
      return asi(random.pick([0o120777, 0o100644, 0o104755, 0o040755]), random.pick(['', '/etc/passwd']));
    case 4:
      return extra(random.pick(otherIds), random.bytes(random.below(20)));
    default:
      return extra(random.pick(knownIds), random.chance(0.4) ? Buffer.alloc(0) : random.bytes(random.below(20)));
  }
}

function unicodePath(version: number, crc: number, path: Buffer): Buffer {
  return extra(0x7075, Buffer.concat([Buffer.from([version]), narrow(crc), path]));
}

function asi(mode: number, link: string): Buffer {
  const type = Buffer.alloc(2);
  type.writeUInt16LE(mode);
  const fields = Buffer.concat([type, narrow(link.length), Buffer.alloc(4), Buffer.from(link)]);
  return extra(0x756e, Buffer.concat([narrow(crc32(fields)), fields]));
}

function pair(both: Buffer): readonly [Buffer, Buffer] {
  return [both, both];
}
