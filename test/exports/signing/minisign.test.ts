import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import {
  MinisignFormatError,
  parsePublicKey,
  parseSignature,
  readSecretKey,
  SecretKeyError,
  scryptCost,
  signatureText,
  signsComment,
  signsContent,
} from '../../../src/exports/signing/minisign.ts';
import { tempFolder } from '../../tools/bundle/temp-folder.ts';
import { Minisign, minisignProgram } from '../../tools/servers/minisign.ts';

const program = minisignProgram();
const content = '{ "version": "1" }\n';

async function scene() {
  const minisign = new Minisign(program ?? '', await tempFolder());
  await minisign.makeKey('mine');
  await minisign.write('manifest.json', content);
  const text = (name: string) => readFile(minisign.at(name), 'utf8');
  return { minisign, text, publicKey: async (name = 'mine') => parsePublicKey(await text(`${name}.pub`)) };
}

const noPassword = () => null;

describe.skipIf(program === null)('beside the real minisign', () => {
  it('it verifies what docferry signs', async () => {
    const { minisign, text } = await scene();
    const key = await readSecretKey(await text('mine.key'), noPassword);
    await minisign.write('manifest.json.minisig', signatureText(Buffer.from(content), 'domain:docs\tversion:ü', key));
    expect(await minisign.verify('manifest.json', 'mine')).toContain('Trusted comment: domain:docs\tversion:ü');
    await minisign.write('manifest.json', `${content} `);
    expect(await minisign.verify('manifest.json', 'mine')).toBeNull();
  });

  it('docferry verifies what it signs, and refuses what was changed', async () => {
    const { minisign, text, publicKey } = await scene();
    await minisign.sign('manifest.json', 'mine', ['-t', 'as it said']);
    const { id, key } = await publicKey();
    const signed = await text('manifest.json.minisig');
    const signature = parseSignature(signed);
    expect([signature.keyId, signature.prehashed, signature.trustedComment]).toEqual([id, true, 'as it said']);
    expect(signsContent(signature, Buffer.from(content), key)).toBe(true);
    expect(signsComment(signature, key)).toBe(true);
    expect(signsContent(signature, Buffer.from(content.replace('1', '2')), key)).toBe(false);
    const other = parseSignature(signed.replace('as it said', 'as he said'));
    expect(signsContent(other, Buffer.from(content), key)).toBe(true);
    expect(signsComment(other, key)).toBe(false);
    await minisign.makeKey('other');
    const stranger = await publicKey('other');
    expect(stranger.id).not.toBe(id);
    expect(signsContent(signature, Buffer.from(content), stranger.key)).toBe(false);
  });

  it('the legacy kind of signature is recognised and never accepted', async () => {
    const { minisign, text, publicKey } = await scene();
    await minisign.sign('manifest.json', 'mine', ['-l']);
    expect(await minisign.verify('manifest.json', 'mine')).not.toBeNull();
    const signature = parseSignature(await text('manifest.json.minisig'));
    expect(signature.prehashed).toBe(false);
    expect(signsContent(signature, Buffer.from(content), (await publicKey()).key)).toBe(false);
  });

  it('opens a key with its password, but not with another or none', async () => {
    const { minisign, text } = await scene();
    await minisign.makeKey('locked', 'correct horse');
    const file = await text('locked.key');
    const key = await readSecretKey(file, () => 'correct horse');
    await minisign.write('manifest.json.minisig', signatureText(Buffer.from(content), 'locked', key));
    expect(await minisign.verify('manifest.json', 'locked')).toContain('Trusted comment: locked');
    await expect(readSecretKey(file, () => 'battery staple')).rejects.toThrow(
      'cannot be opened: the password is wrong',
    );
    await expect(readSecretKey(file, noPassword)).rejects.toThrow('needs a password, and none is given');
  });

  it('refuses files that are no key or a damaged key, without showing any of them', async () => {
    const { text } = await scene();
    const good = await text('mine.key');
    const [comment = '', base64 = ''] = good.split('\n');
    const withByte = (at: number, value: number) => {
      const bytes = Buffer.from(base64, 'base64');
      bytes[at] = value;
      return `${comment}\n${bytes.toString('base64')}\n`;
    };
    const bad = {
      'the public half': await text('mine.pub'),
      'an empty file': '',
      'another algorithm': withByte(0, 0x58),
      'another derivation': withByte(2, 0x58),
      'a seed that is another': withByte(62, (Buffer.from(base64, 'base64')[62] ?? 0) ^ 1),
    };
    for (const [what, file] of Object.entries(bad)) {
      const error = await readSecretKey(file, noPassword).catch((found: unknown) => found);
      expect([what, error instanceof SecretKeyError]).toEqual([what, true]);
      expect(String(error)).not.toMatch(/[A-Za-z0-9+/]{20}/);
    }
  });
});

describe('texts that minisign does not write', () => {
  const line = (bytes: number, kind = 'ED') =>
    Buffer.concat([Buffer.from(kind), Buffer.alloc(bytes - 2, 1)]).toString('base64');
  const lines = ['untrusted comment: x', line(74), 'trusted comment: y', line(64)];
  const without = (at: number) => lines.filter((_, index) => index !== at).join('\n');

  it('are no signatures', () => {
    expect(parseSignature(`${lines.join('\r\n')}\r\n`)).toMatchObject({
      keyId: '0101010101010101',
      trustedComment: 'y',
    });
    const bad = [
      '',
      without(0),
      without(1),
      without(2),
      without(3),
      `${lines.join('\n')}\nmore`,
      lines.join('\n').replace('untrusted comment', 'comment'),
      lines.join('\n').replace('trusted comment: y', 'comment: y'),
      lines.join('\n').replace(line(74), line(73)),
      lines.join('\n').replace(line(74), line(74, 'XX')),
      lines.join('\n').replace(line(74), ` ${line(74)}`),
      lines.join('\n').replace(line(64), line(64).replace('=', '')),
      `${lines.join('\n')}${' '.repeat(20_000)}`,
    ];
    for (const text of bad) expect(() => parseSignature(text)).toThrow(MinisignFormatError);
  });

  it('are no public keys', () => {
    expect(parsePublicKey(line(42, 'Ed')).id).toBe('0101010101010101');
    expect(parsePublicKey(`untrusted comment: k\n${line(42, 'Ed')}\n`).id).toBe('0101010101010101');
    const bad = [
      '',
      'x',
      line(42, 'ED'),
      line(41, 'Ed'),
      `untrusted comment: k`,
      `${line(42, 'Ed')}\n${line(42, 'Ed')}`,
    ];
    for (const text of bad) expect(() => parsePublicKey(text)).toThrow(MinisignFormatError);
  });
});

it('reads the limits in a key file as libsodium does', () => {
  expect(scryptCost(524_288, 16_777_216)).toEqual({ N: 2 ** 14, p: 1 });
  // The limits that minisign asks for, and its fallback where memory is short.
  expect(scryptCost(2_097_152, 67_108_864)).toEqual({ N: 2 ** 16, p: 1 });
  expect(scryptCost(33_554_432, 1_073_741_824)).toEqual({ N: 2 ** 20, p: 1 });
  expect(scryptCost(33_554_432, 268_435_456)).toEqual({ N: 2 ** 18, p: 4 });
  expect(scryptCost(0, 1_073_741_824)).toEqual({ N: 2 ** 10, p: 1 });
});
