type Camel<Name extends string> = Name extends `${infer Word}_${infer Rest}`
  ? `${Word}${Capitalize<Camel<Rest>>}`
  : Name;
type Snake<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${Snake<Rest>}`
  : Name;

/** A row with its columns named as fields. */
export type Fields<Row> = { [Column in keyof Row as Camel<Column & string>]: Row[Column] };
/** Fields named as the columns that hold them. */
export type Columns<Row> = { [Field in keyof Row as Snake<Field & string>]: Row[Field] };

/** `first_seen_at` becomes `firstSeenAt`. */
export function fieldsOf<Row extends object>(row: Row): Fields<Row> {
  return renamed(row, (column) => column.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())) as Fields<Row>;
}

/** `firstSeenAt` becomes `first_seen_at`. */
export function columnsOf<Row extends object>(fields: Row): Columns<Row> {
  return renamed(fields, (field) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)) as Columns<Row>;
}

function renamed(row: object, rename: (name: string) => string): object {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [rename(name), value]));
}
