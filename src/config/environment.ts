export type Environment = Readonly<Record<string, string | undefined>>;

export interface Expansion {
  /** The text with every `${NAME}` replaced; what is missing is left empty. */
  text: string;
  /** Names in it that the environment does not have. */
  missing: string[];
  /** What looks like `${…}` but is no `${NAME}`. */
  malformed: string[];
}

/** `$${` stands for a literal `${`; a name is what a shell takes for one. */
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
