/** Characters of a part of a name. */
export const longestSearch = 200;

/** A path with the fields that ask for something. */
export function addressWith(path: string, fields: Readonly<Record<string, string>>): string {
  const asked = Object.entries(fields).filter(([, value]) => value !== '');
  return asked.length === 0 ? path : `${path}?${new URLSearchParams(asked)}`;
}

/** The named fields: `q` is a part of a name in lower case, `page` a number from 1 on. */
export function fieldsIn<Name extends string>(
  parameters: URLSearchParams,
  names: readonly Name[],
): Readonly<Record<Name, string>> {
  const read = (name: Name) =>
    name === 'q' ? searchIn(parameters) : name === 'page' ? pageIn(parameters) : textIn(parameters, name);
  return Object.fromEntries(names.map((name) => [name, read(name)])) as Record<Name, string>;
}

/** What the field of this name asks for; empty for nothing. */
export const textIn = (parameters: URLSearchParams, field: string): string => (parameters.get(field) ?? '').trim();

/** The part of a name that `q` looks for, in lower case. */
export const searchIn = (parameters: URLSearchParams): string =>
  textIn(parameters, 'q').toLowerCase().slice(0, longestSearch);

/** The page of a list, from 1 on; empty for the first and for what is no page. */
export const pageIn = (parameters: URLSearchParams): string =>
  /^[1-9]\d{0,5}$/.exec(textIn(parameters, 'page'))?.[0] ?? '';
