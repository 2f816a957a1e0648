import { Composer, type Document, isMap, isScalar, LineCounter, type ParsedNode, Parser, type YAMLMap } from 'yaml';

type ValuesProblem =
  | 'invalid-yaml'
  | 'duplicate-key'
  | 'several-documents'
  | 'line-ends'
  | 'no-mapping'
  | 'not-editable'
  | 'shared-by-alias';

/** A values file that cannot be edited safely; the message says where and why, and quotes no value of the file. */
export class ValuesRefused extends Error {
  override readonly name = 'ValuesRefused';
  readonly problem: ValuesProblem;

  constructor(problem: ValuesProblem, message: string) {
    super(message);
    this.problem = problem;
  }
}

export type ValuesMap = YAMLMap<ParsedNode, ParsedNode | null>;
export type ValuesPair = ValuesMap['items'][number];

/** A document of a values file with its concrete syntax: nodes know their tokens, and tokens their offset in the text. */
export interface ValuesDocument {
  /** The whole file. */
  text: string;
  /** Null when it has nothing but comments. */
  root: ValuesMap | null;
  /** Where the content of a file with one document ends: the end of the file, or the marker `...`. */
  end: number;
  /** Plain values, aliases and merge keys resolved; mappings as `Map`. */
  values: ReadonlyMap<unknown, unknown>;
}

/** Far more than values files have; stops alias bombs. */
const maxAliases = 10_000;

/** The documents with content, or the only one. Throws `ValuesRefused`. */
export function parseValues(text: string): ValuesDocument[] {
  if (/\r(?!\n)/.test(text)) throw new ValuesRefused('line-ends', 'has line ends that are neither LF nor CRLF');
  const lines = new LineCounter();
  const tokens = [...new Parser(lines.addNewLine).parse(text)];
  const documents = [...new Composer({ keepSourceTokens: true, merge: true }).compose(tokens)];
  for (const { code, pos } of documents.flatMap(({ errors }) => errors)) {
    const line = `line ${lines.linePos(pos[0]).line}`;
    if (code === 'DUPLICATE_KEY') throw new ValuesRefused('duplicate-key', `${line}: a key is listed twice`);
    throw new ValuesRefused('invalid-yaml', `${line}: is not valid YAML (${code})`);
  }
  const end = tokens.find(({ type }) => type === 'doc-end')?.offset ?? text.length;
  const found = documents.map((document): ValuesDocument => {
    const root = rootOf(document);
    return { text, root, end, values: root ? valuesOf(document) : new Map() };
  });
  const filled = found.filter(({ root }) => root !== null);
  if (filled.length > 0) return filled;
  return [found[0] ?? { text, root: null, end, values: new Map() }];
}

/** The entry of a mapping with this key, however it is quoted. */
export function findPair(map: ValuesMap, key: string): ValuesPair | undefined {
  return map.items.find((pair) => isScalar(pair.key) && pair.key.value === key);
}

function rootOf(document: Document.Parsed): ValuesMap | null {
  const { contents } = document;
  if (isMap(contents)) return contents;
  const empty = isScalar(contents) && contents.value === null && !sourceOf(contents);
  if (contents === null || empty) return null;
  throw new ValuesRefused('no-mapping', 'does not contain a mapping');
}

function sourceOf({ srcToken }: ParsedNode): string {
  return srcToken && 'source' in srcToken ? srcToken.source : '';
}

function valuesOf(document: Document.Parsed): Map<unknown, unknown> {
  try {
    const values: unknown = document.toJS({ mapAsMap: true, maxAliasCount: maxAliases });
    if (values instanceof Map) return values;
  } catch {
    // The reason is named below.
  }
  throw new ValuesRefused('invalid-yaml', 'has too many or unknown aliases');
}
