import type { z } from 'zod';

/** Names the field and the type of its value, never the value: `contact: expected string, got number`. */
export function describeIssue(error: z.ZodError, input: unknown): string {
  const issue = error.issues[0];
  if (issue === undefined) return 'not understood';
  const field = issue.path.length === 0 ? 'the whole' : issue.path.map(String).join('.');
  const got = typeName(valueAt(input, issue.path));
  if (issue.code === 'too_small') return `${field}: must not be empty`;
  const expected = issue.code === 'invalid_type' ? issue.expected : 'something else';
  return got === 'nothing' ? `${field}: missing` : `${field}: expected ${expected}, got ${got}`;
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let value = input;
  for (const key of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Record<PropertyKey, unknown>)[key];
  }
  return value;
}

function typeName(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
