import { z } from 'zod';
import { configSchema } from './file-schema.ts';

/** The parts of a schema that this file uses. */
export interface JsonSchema {
  type?: string;
  title?: string;
  description?: string;
  default?: unknown;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  const?: unknown;
  enum?: unknown[];
  examples?: unknown[];
  anyOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  items?: JsonSchema;
  $ref?: string;
  [keyword: string]: unknown;
}

/** The shape of `docferry.yaml` as JSON Schema (draft 2020-12), before variables are replaced. */
export function fieldSchema(): JsonSchema {
  return z.toJSONSchema(configSchema, { io: 'input', target: 'draft-2020-12' }) as JsonSchema;
}

/**
 * The JSON Schema of `docferry.yaml` for editors. It accepts everything that `loadConfig` accepts, so fields of any type
 * may also refer to the environment; `docferry config check` finds the rest.
 */
export function configJsonSchema(): JsonSchema {
  const { $schema, ...root } = withReferences(fieldSchema());
  return {
    $schema,
    title: 'docferry.yaml',
    description: 'Configuration of docferry. Durations: 500ms, 20s, 15m, 1h, 7d. Sizes: 10MB, 5GiB.',
    ...root,
    $defs: {
      reference: {
        title: 'reference to the environment',
        type: 'string',
        pattern: String.raw`\$\{[A-Za-z_][A-Za-z0-9_]*\}`,
      },
    },
  };
}

function withReferences(schema: JsonSchema): JsonSchema {
  const { properties, items } = schema;
  if (properties !== undefined) {
    const fields = Object.entries(properties).map(([name, field]) => [name, withReferences(field)] as const);
    return { ...schema, properties: Object.fromEntries(fields) };
  }
  if (items !== undefined) return { ...schema, items: withReferences(items) };
  if (!isChecked(schema)) return schema;
  const { title, description, default: initial, examples, anyOf, ...shape } = schema;
  const about = Object.entries({ title, description, default: initial, examples });
  return {
    ...Object.fromEntries(about.filter(([, value]) => value !== undefined)),
    anyOf: [...(anyOf ?? [shape]), { $ref: '#/$defs/reference' }],
  };
}

/** Whether the schema refuses some texts. */
function isChecked({ type, pattern, enum: values, const: value, anyOf }: JsonSchema): boolean {
  return type !== 'string' || [pattern, values, value, anyOf].some((keyword) => keyword !== undefined);
}
