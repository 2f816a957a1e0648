import { visible } from '../../feedback/report/html.ts';

interface Field {
  /** Of the address and, on its page, its id. */
  name: string;
  label: string;
  value: string;
}

/** One of a few values; the empty one is for `all` of them. A value that an address has besides is one more. */
export function Choice({
  name,
  label,
  value,
  all = 'all',
  options,
}: Field & { all?: string; options: readonly (readonly [value: string, text: string])[] }) {
  const isOther = value !== '' && !options.some(([one]) => one === value);
  return (
    <div class="field">
      <label for={name}>{label}</label>
      <select id={name} name={name}>
        <option value="">{all}</option>
        {[...options, ...(isOther ? [[value, value] as const] : [])].map(([one, text]) => (
          <option value={one} selected={one === value}>
            {visible(text)}
          </option>
        ))}
      </select>
    </div>
  );
}

/** Part of a name. */
export function NamePart({ name, label, value, longest }: Field & { longest: number }) {
  return (
    <div class="field">
      <label for={name}>{label}</label>
      <input id={name} name={name} type="search" value={visible(value)} maxlength={longest} />
    </div>
  );
}
