/** A call of `describe` or `it` in a test file as the formatter writes it, up to the arguments. */
const call = /^( *)(describe|it)((?:\.\w+)*)(?:<.*>)?\(/gm;
const ownTitle = /^\s*(['"`])((?:\\.|(?!\1).)*)\1/su;
/** The title behind a table or condition: `])('title'`, `)(\n  'title'`. */
const titleBehind = /\)\(\s*(['"`])((?:\\.|(?!\1).)*)\1/su;

/**
 * Full names of the tests in the source of a test file, groups and title joined by ` > `; a test with a table by its
 * template. Tests that are skipped whatever happens are left out.
 */
export function testNames(source: string): string[] {
  const open: { indent: number; title: string; skipped: boolean }[] = [];
  const calls = [...source.matchAll(call)];
  return calls.flatMap((match, index) => {
    const [head, spaces = '', kind, modifiers = ''] = match;
    const rest = source.slice(match.index + head.length, calls[index + 1]?.index);
    const [, , title = ''] = (modifiers.match(/\.(each|skipIf|runIf|for)$/) ? titleBehind : ownTitle).exec(rest) ?? [];
    while (open.length > 0 && (open.at(-1)?.indent ?? 0) >= spaces.length) open.pop();
    open.push({
      indent: spaces.length,
      title: title.replaceAll(/\\(.)/g, '$1'),
      skipped: /\.(skip|todo)\b/.test(modifiers),
    });
    const counts = kind === 'it' && open.every(({ title: name, skipped }) => name !== '' && !skipped);
    return counts ? [open.map(({ title: name }) => name).join(' > ')] : [];
  });
}
