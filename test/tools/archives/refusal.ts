import type { StructureRule } from '../../../src/exports/rules/verification-rules.ts';
import { paxRecords, type RawBlock, rawTar } from './raw-tar.ts';
import { type RawEntry, rawZip } from './raw-zip.ts';

/** An archive that breaks one rule and no other, and the case it stands for (docs/bad-input.md). */
export interface Refusal {
  rule: StructureRule;
  shows: string;
  archive: Buffer;
  limits?: { maxBytes?: number; maxFiles?: number };
  timeLimitMs?: number;
}

export const index = { name: 'index.html', content: '<h1>Home</h1>' };
export const page = { name: 'a.html', content: 'a'.repeat(40) };

export const tar = (...blocks: RawBlock[]) => rawTar([index, ...blocks]);
export const zip = (...entries: RawEntry[]) => rawZip([index, ...entries]);
export const named = (name: string) => [tar({ name, content: 'x' }), zip({ name, content: 'x' })];
export const pagePacked = (() => rawZip([page]).readUInt32LE(18))();

export function field(at: number, text: string): (header: Buffer) => void {
  return (header) => void header.write(text, at, 'latin1');
}

export function pax(type: 'x' | 'g', ...records: [string, string][]): RawBlock {
  return { name: 'PaxHeader', type, content: paxRecords(...records) };
}

export function changed(archive: Buffer, at: number, byte: number): Buffer {
  const copy = Buffer.from(archive);
  copy[at < 0 ? copy.length + at : at] = byte;
  return copy;
}

export function of(rule: StructureRule, ...cases: [string, Buffer | Buffer[]][]): Refusal[] {
  return cases.flatMap(([shows, made]) => [made].flat().map((archive) => ({ rule, shows, archive })));
}
export function long(name: string): RawBlock {
  return { name: '././@LongLink', type: 'L', content: name, gnu: true };
}
