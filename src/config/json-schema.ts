import { z } from 'zod';
import { fileSchema } from './schema.ts';

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
  return z.toJSONSchema(fileSchema, { io: 'input', target: 'draft-2020-12' }) as JsonSchema;
}

/**
 * The JSON Schema of `docferry.yaml` for editors. It accepts everything that `loadConfig` accepts, so fields of any type
 * may also refer to the environment; `docferry config check` finds the rest.
 */
export function configJsonSchema(): JsonSchema {
  const { $schema, ...root } = withDefaults(withReferences(fieldSchema()));
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

/** Fields of an entry that `defaults` may give may be missing in it, and null where the default is not wanted. */
function withDefaults(root: JsonSchema): JsonSchema {
  const { defaults, organizations } = root.properties ?? {};
  const { organizations: shared, projects: ofProjects, sites: ofSites } = defaults?.properties ?? {};
  const { projects, sites } = organizations?.items?.properties ?? {};
  const organization = overridable(organizations?.items ?? {}, shared ?? {});
  const lists = {
    projects: { ...projects, items: overridable(projects?.items ?? {}, ofProjects ?? {}) },
    sites: { ...sites, items: overridable(sites?.items ?? {}, ofSites ?? {}) },
  };
  const items = { ...organization, properties: { ...organization.properties, ...lists } };
  return { ...root, properties: { ...root.properties, organizations: { ...organizations, items } } };
}

/** The fields of `defaults` in `entry`, at any depth, as they may be written there. */
function overridable(entry: JsonSchema, defaults: JsonSchema): JsonSchema {
  const own = entry.properties ?? {};
  const fields = Object.entries(own).map(([name, field]): [string, JsonSchema] => {
    const initial = defaults.properties?.[name];
    if (initial === undefined) return [name, field];
    const { description, ...shape } = field.title === 'schedule' ? field : overridable(field, initial);
    return [name, { ...(description !== undefined && { description }), anyOf: [shape, { type: 'null' }] }];
  });
  const { required, ...rest } = entry;
  const kept = required?.filter((name) => defaults.properties?.[name] === undefined) ?? [];
  if (entry.properties === undefined) return entry;
  return { ...rest, ...(kept.length > 0 && { required: kept }), properties: Object.fromEntries(fields) };
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
