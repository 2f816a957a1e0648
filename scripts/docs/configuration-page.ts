import { fieldSchema, type JsonSchema } from '../../src/config/json-schema.ts';

const intro = `# Configuration

<!-- Generated from src/config/*-schema.ts by \`npm run docs\`: change it there. -->

docferry reads \`--config FILE\`, else the file that \`DOCFERRY_CONFIG\` names, else \`./docferry.yaml\`. \`docferry config init\`
writes an example; \`docferry config check\` reports every mistake with its line and column, and shows what the rest means.

- \`\${NAME}\` in any value comes from the environment; \`$\${\` is a literal \`\${\`. Inside \`{ }\` and \`[ ]\` write \`"\${NAME}"\` with
  quotes.
- Durations: \`500ms\`, \`20s\`, \`15m\`, \`1h\`, \`7d\`. Sizes: \`10MB\` (powers of 1000), \`5GiB\` (powers of 1024), or bytes.
- Relative paths are relative to the file.
- An unknown field is an error; docferry ignores nothing silently.

What many organizations, projects or sites share is written once, in [\`defaults\`](#defaults); an entry of \`sites\` may
list several \`domains\`:

\`\`\`yaml
defaults:
  organizations: { refresh: { every: 5m, share: 50% } }
  sites:
    schedule: { every: 1d, jitter: 1h }
    rollout:
      - directory: { path: "./sites/{domain}" }
organizations:
  - id: acme
    apiKey: \${ACME_API_KEY}
    projects: [{ id: prj_1, name: Handbook }, { id: prj_2 }]
    sites:
      - domains: [docs1.acme.example, docs2.acme.example]
      - domain: blog.acme.example
        schedule: null # only on demand
\`\`\`

\`docferry config check --expand\` prints the file written out, for reading, not for loading: an entry for each site, with
everything it gets from defaults; rules about changes only where they are set. Errors name the place where a value was written.

Editors with a YAML language server can check and complete the file: write its JSON Schema with
\`docferry config schema > docferry.schema.json\` and begin the configuration with

\`\`\`yaml
# yaml-language-server: $schema=./docferry.schema.json
\`\`\`
`;

interface Section {
  path: string;
  schema: JsonSchema;
}

/** `docs/configuration.md`: a table for each mapping of the schema, schedules once. */
export function configurationPage(): string {
  const schedules: JsonSchema[] = [];
  const sections = sectionsOf({ path: '', schema: fieldSchema() }, schedules);
  const [schedule] = schedules;
  const tables = [...sections, ...(schedule ? [{ path: 'schedule', schema: about(schedule) }] : [])];
  return `${[intro, ...tables.map(sectionText)].join('\n')}`;
}

/** The mappings below one, each after the one it is in. A schedule is collected instead. */
function sectionsOf({ path, schema }: Section, schedules: JsonSchema[]): Section[] {
  if (schema.title === 'schedule') {
    schedules.push(schema);
    return [];
  }
  if (schema.items)
    return sectionsOf(
      { path: `${path}[]`, schema: { ...schema.items, description: schema.description ?? '' } },
      schedules,
    );
  // A mapping with a title is described where the title says.
  if (!schema.properties || schema.title !== undefined) return [];
  const inner = Object.entries(schema.properties).flatMap(([name, field]) =>
    sectionsOf({ path: path === '' ? name : `${path}.${name}`, schema: field }, schedules),
  );
  return path === '' ? inner : [{ path, schema }, ...inner];
}

function about(schedule: JsonSchema): JsonSchema {
  return { ...schedule, description: 'Either `{ every: 15m }` or `{ cron: "0 6 * * *", timezone: Europe/Berlin }`.' };
}

function sectionText({ path, schema }: Section): string {
  const required = new Set(schema.required);
  const rows = Object.entries(schema.properties ?? {}).map(([name, field]) => {
    const initial = required.has(name) ? 'required' : defaultText(field);
    return `| \`${name}\` | ${cell(typeText(field))} | ${cell(initial)} | ${cell(field.description ?? '')} |`;
  });
  const head = ['| field | type | default | meaning |', '|---|---|---|---|'];
  return `## \`${path}\`\n\n${schema.description ?? ''}\n\n${[...head, ...rows].join('\n')}\n`;
}

function typeText(field: JsonSchema): string {
  if (field.title === 'schedule') return '[schedule](#schedule)';
  if (field.title !== undefined) return field.title;
  if (field.const !== undefined) return `\`${String(field.const)}\``;
  if (field.enum) return field.enum.map((value) => `\`${String(value)}\``).join(', ');
  if (field.anyOf) return field.anyOf.map(typeText).join(' or ');
  if (field.items) return field.items.properties ? 'list, see below' : `list: ${typeText(field.items)}`;
  if (field.properties) return 'mapping, see below';
  if (field.type === 'boolean') return '`true` or `false`';
  if (field.type === 'integer') return `whole number from ${field.minimum} to ${field.maximum}`;
  return 'text';
}

function defaultText(field: JsonSchema): string {
  const { default: initial } = field;
  const absent = initial === undefined || (field.properties !== undefined && Object.keys(Object(initial)).length === 0);
  if (absent) return '';
  return Array.isArray(initial) && initial.length === 0 ? 'none' : `\`${String(initial)}\``;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}
