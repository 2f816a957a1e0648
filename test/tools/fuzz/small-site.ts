import { oddNames } from './odd-names.ts';
import type { Random } from './random.ts';

export interface SmallFile {
  name: string;
  content: Buffer;
}

const fileNames = [
  'index.html',
  'a.html',
  'b/c.html',
  'b/d/e.css',
  'f.js',
  'b/g.png',
  'h',
  'b/ü.html',
  `${'long/'.repeat(25)}i.html`,
];

/** One to six files of up to some kilobytes, some of which look like parts of archives themselves. */
export function smallSite(random: Random): SmallFile[] {
  const names = fileNames.filter(() => random.chance(0.3));
  if (names.length === 0) names.push('index.html');
  if (random.chance(0.4)) names.splice(random.below(names.length + 1), 0, random.pick(oddNames));
  return names.map((name) => ({ name, content: contentOf(random) }));
}

function contentOf(random: Random): Buffer {
  switch (random.below(8)) {
    case 0:
      return Buffer.alloc(0);
    case 1:
      return random.bytes(random.below(1500));
    case 2:
      return Buffer.alloc(random.pick([512, 1024, 5000]));
    case 3:
      return Buffer.from(`PK\x05\x06${'\0'.repeat(18)}PK\x03\x04`);
    default:
      return Buffer.from(`<p>${'word '.repeat(random.below(300))}</p>`);
  }
}
