export type Environment = Readonly<Record<string, string | undefined>>;

export interface Expansion {
  /** The text with every `${NAME}` replaced; missing values become empty. */
  text: string;
  /** Names that are not set in the environment. */
  missing: string[];
  /** References `${…}` that are not `${NAME}`. */
  malformed: string[];
}

/** `$${` stands for a literal `${`; names are those of a shell. */
const referencePattern = /\$\$\{|\$\{([^}]*)\}?/g;
const namePattern = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Replaces `${NAME}` by the environment's value (contracts.md). Values are not expanded again. */
export function expand(text: string, environment: Environment): Expansion {
  const missing: string[] = [];
  const malformed: string[] = [];
  const expanded = text.replace(referencePattern, (reference: string, name: string | undefined) => {
    if (name === undefined) return '${';
    if (!namePattern.test(name) || !reference.endsWith('}')) {
      malformed.push(reference);
      return '';
    }
    const value = environment[name];
    if (value === undefined) missing.push(name);
    return value ?? '';
  });
  return { text: expanded, missing, malformed };
}

/** The names that `text` refers to. */
export function referencedNames(text: string): string[] {
  return [...text.matchAll(referencePattern)].flatMap(([, name]) => (name === undefined ? [] : [name]));
}
