import { z } from 'zod';
import { nearestName } from '../rules/nearest-name.ts';
import type { ConfigProblem } from './config-error.ts';
import { fileSchema } from './file-schema.ts';
import { formatPath } from './format-path.ts';
import type { Expanded } from './expand.ts';
import type { YamlFile } from './yaml-file.ts';

/** Issues found by the schema, in words and with their places in the file, which `written` knows. */
export function describeIssues(
  issues: readonly z.core.$ZodIssue[],
  yaml: YamlFile,
  written: Expanded['written'],
): ConfigProblem[] {
  return issues.flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') return [problemAt(written(issue.path), messageOf(issue), yaml)];
    return issue.keys.map((key) => {
      const path = written([...issue.path, key]);
      const mapping = path.slice(0, -1);
      return {
        path: formatPath(path),
        position: yaml.positionOfKey(mapping, key),
        message: unknownKey(mapping, key),
      };
    });
  });
}

/** A problem with the field at `path`, with its value if that may be shown. */
export function problemAt(path: readonly PropertyKey[], message: string, yaml: YamlFile): ConfigProblem {
  const held = message.startsWith('expected') ? yaml.held(path) : null;
  const isMissing = held === null && valueAt(yaml.value, path) === undefined;
  const text = isMissing ? `is missing: ${message}` : held === null ? message : `${message}; it is ${held}`;
  return { path: formatPath(path), position: yaml.position(path), message: text };
}

function messageOf(issue: z.core.$ZodIssue): string {
  const expectsObject = issue.code === 'invalid_type' && issue.expected === 'object';
  return expectsObject && /^Invalid/.test(issue.message) ? 'expected a mapping' : issue.message;
}

function unknownKey(path: readonly PropertyKey[], key: string): string {
  const allowed = allowedKeys(path);
  const nearest = nearestName(key, allowed);
  if (nearest !== null) return `unknown key; did you mean "${nearest}"?`;
  return `unknown key; expected one of ${allowed.join(', ')}`;
}

/** Keys that the schema allows in the mapping at `path`. */
function allowedKeys(path: readonly PropertyKey[]): string[] {
  let schema: unknown = z.toJSONSchema(fileSchema, { io: 'input' });
  for (const key of path) {
    schema = typeof key === 'number' ? member(schema, 'items') : member(member(schema, 'properties'), String(key));
  }
  return Object.keys(member(schema, 'properties') ?? {});
}

function member(value: unknown, name: string): object | undefined {
  const found: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
  return typeof found === 'object' && found !== null ? found : undefined;
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, key) => {
    return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
  }, root);
}
