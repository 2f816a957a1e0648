const block = 512;

/** A header block and what follows it; `change` alters the header before its checksum is made. */
export interface RawBlock {
  name: string;
  type?: string;
  content?: string | Buffer;
  gnu?: boolean;
  change?: (header: Buffer) => void;
  padding?: number;
}

export function rawTar(blocks: readonly RawBlock[], end = Buffer.alloc(2 * block)): Buffer {
  return Buffer.concat([...blocks.map(rawBlock), end]);
}

export function rawBlock({ name, type = '0', content = '', gnu = false, change, padding = 0 }: RawBlock): Buffer {
  const data = Buffer.from(content);
  const header = Buffer.alloc(block);
  header.write(name, 0, 100, 'utf8');
  header.write(`0000${type === '5' ? '755' : '644'}\x000000000\x000000000\0`, 100);
  header.write(octal(data.length), 124);
  header.write(octal(0), 136);
  header.write(type, 156);
  header.write(gnu ? 'ustar  \0' : 'ustar\x0000', 257);
  change?.(header);
  header.write('        ', 148);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return Buffer.concat([header, data, Buffer.alloc((block - (data.length % block)) % block, padding)]);
}

export function octal(value: number): string {
  return `${value.toString(8).padStart(11, '0')}\0`;
}

/** Pax records, in the order given. */
export function paxRecords(...records: readonly (readonly [string, string])[]): string {
  return records.map(([key, value]) => paxRecord(key, value)).join('');
}

function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  let length = Buffer.byteLength(rest) + 1;
  while (Buffer.byteLength(`${length}${rest}`) !== length) length += 1;
  return `${length}${rest}`;
}
