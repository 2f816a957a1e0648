import {
  type Document,
  isCollection,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  visit,
} from 'yaml';
import {
  type ConfigProblem,
  type Environment,
  type Expansion,
  expand,
  passwordSpan,
  referencedNames,
} from './secrets.ts';

/** `organizations[0].budget.requests` */
export function formatPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`;
    return text === '' ? String(key) : `${text}.${String(key)}`;
  }, '');
}

/** More than a file of this size holds; prevents alias bombs, whose aliases multiply. */
const maxAliases = 10_000;

/**
 * Values of these keys are secrets, or lead to one, and so is the address of a webhook: never expanded on loading, never
 * shown.
 */
const secretKeys = new Set<unknown>(
  'apiKey apiKeyFile clientSecret codecToken hashKey headers password secret token'.split(' '),
);

function isSecret(path: readonly PropertyKey[]): boolean {
  return path.some((key) => secretKeys.has(key)) || (path.includes('webhooks') && path.includes('url'));
}

/** A YAML file as plain values whose positions in the text are known. */
export class YamlFile {
  /** Syntax errors and unknown variables; with any, `value` may be incomplete. */
  readonly problems: ConfigProblem[] = [];
  /** Names of the variables that its values refer to. */
  readonly variables: string[] = [];
  /** `null` for an empty file. */
  readonly value: unknown;
  readonly #document: Document;
  readonly #lines = new LineCounter();
  /** The file's own text, before values were expanded. */
  readonly #templates = new WeakMap<object, string>();

  constructor(text: string, environment: Environment) {
    this.#document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false });
    for (const { message, pos } of [...this.#document.errors, ...this.#document.warnings]) {
      this.problems.push({ path: '', position: this.#positionAt(pos[0]), message: `YAML: ${showable(message)}` });
    }
    this.#expand(environment);
    this.value = this.#document.errors.length > 0 ? null : this.#toValue();
  }

  /** Position of the field, or of the nearest one around it. */
  position(path: readonly PropertyKey[]): ConfigProblem['position'] {
    for (let length = path.length; length >= 0; length -= 1) {
      const node = this.#nodeAt(path.slice(0, length));
      if (node?.range) return this.#positionOf(node);
    }
    return null;
  }

  positionOfKey(path: readonly PropertyKey[], key: string): ConfigProblem['position'] {
    const map = this.#nodeAt(path);
    if (!isMap(map)) return this.position(path);
    const pair = map.items.find((item) => isScalar(item.key) && String(item.key.value) === key);
    const node = pair?.key;
    return isNode(node) ? this.#positionOf(node) : this.position(path);
  }

  /** What the field contains, in words that may be shown: never a secret or a value from the environment. */
  held(path: readonly PropertyKey[]): string | null {
    if (isSecret(path)) return null;
    const node = this.#nodeAt(path);
    if (node === undefined) return null;
    if (isCollection(node)) return isMap(node) ? 'a mapping' : 'a list';
    if (!isScalar(node)) return null;
    const shown = this.#templates.get(node) ?? node.value;
    // In an address that cannot be read, the password may stand anywhere.
    if (formatPath(path) === 'store.feedback' && /^postgres|:\/\//i.test(String(shown))) return null;
    return typeof shown === 'string' ? JSON.stringify(showable(shown)) : String(shown);
  }

  #expand(environment: Environment): void {
    visit(this.#document, {
      Scalar: (key, node, ancestors) => {
        if (key === 'key' || typeof node.value !== 'string' || !node.value.includes('${')) return;
        this.variables.push(...referencedNames(node.value));
        const at = pathOf([...ancestors, node]);
        if (isSecret(at)) return;
        const { text, missing, malformed } = expandButPassword(node.value, environment);
        const path = formatPath(at);
        const report = (message: string) => this.problems.push({ path, position: this.#positionOf(node), message });
        for (const name of missing) report(`the environment variable ${name} is not set`);
        if (malformed.length > 0) report(`expected \${NAME} with nothing else inside ($\${ for a literal \${)`);
        this.#templates.set(node, node.value);
        node.value = node.type === 'PLAIN' ? plainValue(text) : text;
      },
    });
  }

  #toValue(): unknown {
    try {
      const value: unknown = this.#document.toJS({ maxAliasCount: maxAliases });
      // Throws a TypeError for a value that contains itself.
      JSON.stringify(value);
      return value;
    } catch (error) {
      const why =
        error instanceof TypeError ? 'an alias stands within what it refers to' : 'too many or unknown aliases';
      this.problems.push({ path: '', position: null, message: `YAML: ${why}` });
      return null;
    }
  }

  #nodeAt(path: readonly PropertyKey[]): Node | undefined {
    const node = path.length === 0 ? this.#document.contents : this.#document.getIn(path, true);
    return isNode(node) ? node : undefined;
  }

  #positionOf(node: Node): ConfigProblem['position'] {
    return node.range ? this.#positionAt(node.range[0]) : null;
  }

  #positionAt(offset: number): ConfigProblem['position'] {
    const { line, col } = this.#lines.linePos(offset);
    return { line, column: col };
  }
}

/** The field's path from the nodes around it and itself. */
function pathOf(nodes: readonly unknown[]): PropertyKey[] {
  return nodes.flatMap((node, index): PropertyKey[] => {
    if (isPair(node)) return [String(isScalar(node.key) ? node.key.value : node.key)];
    return isSeq(node) ? [node.items.indexOf(nodes[index + 1])] : [];
  });
}

/** Expands all but the password in the address of a database, which is a secret and read when it is used. */
function expandButPassword(text: string, environment: Environment): Expansion {
  const span = passwordSpan(text);
  if (span === null) return expand(text, environment);
  const [before, after] = [expand(text.slice(0, span.start), environment), expand(text.slice(span.end), environment)];
  return {
    text: before.text + text.slice(span.start, span.end) + after.text,
    missing: [...before.missing, ...after.missing],
    malformed: [...before.malformed, ...after.malformed],
  };
}

/** An unquoted `${NAME}` is typed like its value; with quotes it stays text. */
function plainValue(text: string): unknown {
  if (/^-?\d{1,15}$/.test(text)) return Number(text);
  return text === 'true' || text === 'false' ? text === 'true' : text;
}

/** Cuts the text and removes what may be a password or a key in the wrong place. */
function showable(text: string): string {
  const safe = text
    .replace(/\S+/g, (word) => {
      const [from, to] = [word.indexOf('//'), word.lastIndexOf('@')];
      return from >= 0 && to >= from + 2 ? `${word.slice(0, from)}//…${word.slice(to)}` : word;
    })
    .replace(/[\w+/=-]{20,}/g, (run) => (/\d/.test(run) && /[A-Za-z]/.test(run) ? '…' : run));
  return safe.length <= 80 ? safe : `${safe.slice(0, 79)}…`;
}
