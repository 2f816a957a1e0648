/** The report's colours by the name of their CSS variable. `test/report/palette.test.ts` computes their contrasts. */
export type Palette = Readonly<Record<ColorName, string>>;

export type ColorName =
  | 'paper'
  | 'wash'
  | 'ink'
  | 'quiet'
  | 'rule'
  | 'focus'
  | 'good'
  | 'bad'
  | 'blue'
  | 'ochre'
  | 'plum'
  | 'moss'
  | 'rose'
  | 'slate'
  | 'stone';

export const light: Palette = {
  paper: '#fcfbf8',
  wash: '#f3f0e9',
  ink: '#1d1c1a',
  quiet: '#5d5952',
  rule: '#dcd7cd',
  focus: '#1f5f99',
  good: '#1a7a6c',
  bad: '#b54524',
  blue: '#2b6597',
  ochre: '#b0761b',
  plum: '#7d4a96',
  moss: '#5c7d3a',
  rose: '#ab3f6d',
  slate: '#4d5d8a',
  stone: '#8a857b',
};

export const dark: Palette = {
  paper: '#15171a',
  wash: '#1f2226',
  ink: '#ece8e1',
  quiet: '#aaa59b',
  rule: '#383b40',
  focus: '#8cc2f2',
  good: '#4fb5a5',
  bad: '#f08b66',
  blue: '#6aaade',
  ochre: '#dfb05c',
  plum: '#bd8fda',
  moss: '#98bd72',
  rose: '#e889b0',
  slate: '#9caade',
  stone: '#928e86',
};

/** A colour for charts and styles, which follows the colour scheme. */
export function colorOf(name: ColorName): string {
  return `var(--${name})`;
}

export function variables(palette: Palette): string {
  return Object.entries(palette)
    .map(([name, value]) => `--${name}:${value}`)
    .join(';');
}

const knownColors: Readonly<Record<string, ColorName>> = {
  contextual: 'blue',
  thumbs_only: 'ochre',
  agent: 'plum',
  code_snippet: 'moss',
  pending: 'bad',
  in_progress: 'ochre',
  resolved: 'good',
  dismissed: 'stone',
};
const otherColors: readonly ColorName[] = ['rose', 'slate', 'moss', 'plum', 'blue', 'ochre'];

/** A colour for each source or status, the same in every chart; `null` stands for all others. */
export function seriesColors(names: readonly (string | null)[]): ColorName[] {
  const known = names.map((name) => (name === null ? undefined : knownColors[name]));
  const free = otherColors.filter((color) => !known.includes(color));
  return names.map((name, index) => known[index] ?? (name === null ? 'stone' : (free.shift() ?? 'stone')));
}
