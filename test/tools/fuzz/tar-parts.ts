const block = 512;
const nameBytes = 100;
const prefixBytes = 155;

export interface Part {
  header: Buffer;
  content: Buffer;
}

interface PartFields {
  name: Buffer;
  type: string;
  content: Buffer;
  gnu: boolean;
  /** Whether a name that is too long for its field goes on in the prefix, where it can be divided. */
  divided?: boolean;
}

/** A header, and the content that follows it. */
export function tarPart({ name, type, content, gnu, divided = false }: PartFields): Part {
  const header = Buffer.alloc(block);
  const slash = divided && name.length > nameBytes ? dividingSlash(name) : -1;
  name.copy(header, 0, slash + 1, slash + 1 + nameBytes);
  if (slash > 0) name.copy(header, 345, 0, slash);
  header.write(`0000${type === '5' ? '755' : '644'}\x000000000\x000000000\0`, 100);
  header.write(octal(content.length), 124);
  header.write('00000000000\0', 136);
  header.write(type, 156, 'latin1');
  header.write(gnu ? 'ustar  \0' : 'ustar\x0000', 257, 'latin1');
  seal(header);
  return { header, content };
}

/** Writes the checksum. */
export function seal(header: Buffer): void {
  header.write('        ', 148);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
}

export function octal(value: number): string {
  return `${value.toString(8).padStart(11, '0')}\0`;
}

/** Pax records, well-formed in their lengths. */
export function paxOf(records: readonly (readonly [string, string])[]): Buffer {
  const lines = records.map(([key, value]) => {
    const rest = ` ${key}=${value}\n`;
    let length = Buffer.byteLength(rest) + 1;
    while (Buffer.byteLength(`${length}${rest}`) !== length) length += 1;
    return `${length}${rest}`;
  });
  return Buffer.from(lines.join(''));
}

/** Where a name can be divided into prefix and name; below 0 where it cannot. */
function dividingSlash(name: Buffer): number {
  const slash = name.lastIndexOf('/', Math.min(prefixBytes, name.length - 2));
  return name.length - slash - 1 <= nameBytes ? slash : -1;
}
