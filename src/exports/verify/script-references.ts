import type { Reference } from './reference.ts';

/** Bounded: two adjacent unbounded runs of white space would backtrack for ever on a long run. */
const module = /\b(?:import|from|importScripts)\s{0,20}\(?\s{0,20}(["'`])((?:https?:)?\/\/[^"'`\s]+)\1/g;
const serviceWorker = /\bserviceWorker\b(?:["']\])?\s{0,20}(?:\?\.|\.)\s{0,20}register\s{0,20}\(/;
const importMapUrl = /"((?:https?:)?\/\/[^"\s]+)"/g;

/** Modules and scripts that a script loads from an absolute address. Relative ones a bundler has resolved already. */
export function scriptReferences(text: string, offset = 0): Reference[] {
  if (!text.includes('//')) return [];
  return Array.from(text.matchAll(module), ({ 2: url = '', index }) => {
    return { kind: 'resource', url, by: 'import', at: offset + index };
  });
}

/** Addresses in a `<script type="importmap">`. */
export function importMapReferences(text: string, offset: number): Reference[] {
  return Array.from(text.matchAll(importMapUrl), ({ 1: url = '', index }) => {
    return { kind: 'resource', url, by: 'import map', at: offset + index };
  });
}

/** Where a script registers a service worker; null when it does not. */
export function serviceWorkerAt(text: string): number | null {
  return text.includes('serviceWorker') ? (serviceWorker.exec(text)?.index ?? null) : null;
}
