/** What moves a cursor, starts a terminal's command, hides text or turns its direction; a line end or tab does none of it. */
const commanding = /[^\P{Cc}\n\t]|[\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** Foreign text without control characters, each shown as `�`. */
export function visibleText(text: string): string {
  return text.replace(commanding, '\ufffd');
}

/** JSON text with the control characters that JSON allows in texts written as escapes. */
export function visibleJson(json: string): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return json.replace(commanding, escaped);
}
