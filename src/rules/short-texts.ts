/** The same JSON value with every text in it cut after so many UTF-16 units: what readers leave may have megabytes. */
export function shortTexts<Value>(value: Value, longest: number): Value {
  return JSON.parse(JSON.stringify(value), (_key, part: unknown) =>
    typeof part === 'string' ? beginningOf(part, longest) : part,
  ) as Value;
}

/** A copy: a slice would keep the whole text in memory. */
export function beginningOf<Text extends string | null>(text: Text, longest: number): Text {
  return text === null || text.length <= longest ? text : (Buffer.from(text.slice(0, longest)).toString() as Text);
}

/** The text without any of these characters at its end. As a pattern (`/+$`), time would grow by the square. */
export function withoutEnd(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}
