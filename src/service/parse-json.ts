import { MalformedResponse } from './errors.ts';

/** `JSON.parse` that throws `MalformedResponse`, which, unlike `SyntaxError`, never quotes the text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const what = text.trim() === '' ? 'an empty answer' : text.trimStart().startsWith('<') ? 'HTML' : 'something else';
    throw new MalformedResponse(`the service answered with ${what} where JSON was expected`);
  }
}
