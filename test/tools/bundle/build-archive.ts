import { crc32, deflateRawSync, gzipSync } from 'node:zlib';

/** An entry of a hand-made archive; `type` is the tar type flag. */
export interface Item {
  name: string | Buffer;
  content?: string | Buffer;
  type?: string;
  /** Zip: Unix mode; flags; what the headers claim. */
  mode?: number;
  flags?: number;
  crc?: number;
  claimedBytes?: number;
}

/** The smallest site that passes. */
export const smallSite: Item[] = [
  { name: 'index.html', content: '<h1>Home</h1>' },
  { name: 'guide/start.html', content: '<h1>Start</h1>' },
  { name: 'assets/site.css', content: 'h1{}' },
];

export function tar(items: Item[]): Buffer {
  return Buffer.concat([...items.map(tarEntry), Buffer.alloc(1024)]);
}

export function tarGz(items: Item[]): Buffer {
  return gzipSync(tar(items));
}

/** A pax header that overrides what follows it. */
export function pax(records: Record<string, string>): Item {
  const lines = Object.entries(records).map(([key, value]) => {
    const rest = ` ${key}=${value}\n`;
    let length = Buffer.byteLength(rest) + 1;
    while (Buffer.byteLength(`${length}${rest}`) !== length) length += 1;
    return `${length}${rest}`;
  });
  return { name: 'PaxHeader', type: 'x', content: lines.join('') };
}

function tarEntry(item: Item): Buffer {
  const content = Buffer.from(item.content ?? '');
  const header = Buffer.alloc(512);
  Buffer.from(item.name).copy(header, 0, 0, 100);
  header.write(`0000${item.type === '5' ? '755' : '644'}\0`, 100);
  header.write('0000000\x000000000\0', 108);
  header.write(`${(item.claimedBytes ?? content.length).toString(8).padStart(11, '0')}\0`, 124);
  header.write('00000000000\0', 136);
  header.write('        ', 148);
  header.write(item.type ?? '0', 156);
  if (item.type === '1' || item.type === '2') header.write('target', 157);
  header.write('ustar\x0000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return Buffer.concat([header, content, Buffer.alloc((512 - (content.length % 512)) % 512)]);
}

export function zip(items: Item[]): Buffer {
  const locals: Buffer[] = [];
  const centrals: Buffer[] = [];
  let offset = 0;
  for (const item of items) {
    const name = Buffer.from(item.name);
    const content = Buffer.from(item.content ?? '');
    const packed = deflateRawSync(content);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(item.flags ?? 0x800, 2);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(item.crc ?? crc32(content), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(item.claimedBytes ?? content.length, 18);
    common.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, name, packed]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(((item.mode ?? 0o100644) << 16) >>> 0, 6);
    rest.writeUInt32LE(offset, 10);
    centrals.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x03'), common, rest, name]));
    locals.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(centrals);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06');
  end.writeUInt16LE(items.length, 8);
  end.writeUInt16LE(items.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, directory, end]);
}
