import type { Random } from './random.ts';

/** Changes bytes without knowing what they mean; `unit` is the size of the pieces that are moved about. */
export function damage(random: Random, bytes: Buffer, unit: number): Buffer<ArrayBuffer> {
  const changed = Buffer.from(bytes);
  if (changed.length === 0) return changed;
  const place = () => random.below(Math.max(1, Math.floor(changed.length / unit))) * unit;
  switch (random.below(7)) {
    case 0:
      return changed.subarray(0, random.below(changed.length));
    case 1:
      return Buffer.concat([
        changed,
        random.chance(0.5) ? Buffer.alloc(1 + random.below(1024)) : random.bytes(random.below(40)),
      ]);
    case 2: {
      const from = place();
      return Buffer.concat([changed.subarray(0, from), changed.subarray(from + unit * (1 + random.below(3)))]);
    }
    case 3: {
      const from = place();
      const piece = changed.subarray(from, from + unit * (1 + random.below(3)));
      const to = place();
      return Buffer.concat([changed.subarray(0, to), piece, changed.subarray(to)]);
    }
    case 4: {
      const to = place();
      return Buffer.concat([changed.subarray(0, to), Buffer.alloc(unit), changed.subarray(to)]);
    }
    default:
      for (let left = 1 + random.below(4); left > 0; left -= 1) {
        const at = random.below(changed.length);
        changed[at] = random.chance(0.5) ? random.below(256) : (changed[at] ?? 0) ^ (1 << random.below(8));
      }
      return changed;
  }
}
