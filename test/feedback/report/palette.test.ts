import { describe, expect, it } from 'vitest';
import { type ColorName, dark, light, type Palette, seriesColors } from '../../../src/feedback/report/figure.ts';

/** WCAG 2.2, "relative luminance" and "contrast ratio". */
function contrast(one: string, other: string): number {
  const luminance = (color: string): number => {
    const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
      const share = Number.parseInt(color.slice(at, at + 2), 16) / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

const schemes: [string, Palette][] = [
  ['light', light],
  ['dark', dark],
];

describe.each(schemes)('in the %s scheme', (_, palette) => {
  it.each<ColorName>(['ink', 'quiet', 'focus', 'good', 'bad'])('%s can be read on paper and wash (4.5:1)', (name) => {
    expect(contrast(palette[name], palette.paper)).toBeGreaterThanOrEqual(4.5);
    expect(contrast(palette[name], palette.wash)).toBeGreaterThanOrEqual(4.5);
  });

  it.each<ColorName>(['good', 'bad', 'blue', 'ochre', 'plum', 'moss', 'rose', 'slate', 'stone', 'focus'])(
    '%s can be seen in charts and edges (3:1)',
    (name) => {
      expect(contrast(palette[name], palette.paper)).toBeGreaterThanOrEqual(3);
      expect(contrast(palette[name], palette.wash)).toBeGreaterThanOrEqual(3);
    },
  );
});

describe('seriesColors', () => {
  it('keeps the colours of known names, and gives others colours of their own', () => {
    expect(seriesColors(['agent', 'contextual'])).toEqual(['plum', 'blue']);
    expect(seriesColors(['contextual', 'voice_note', 'agent', null])).toEqual(['blue', 'rose', 'plum', 'stone']);
    const many = seriesColors(['a', 'b', 'c', 'd', 'e', 'f']);
    expect(new Set(many).size).toBe(6);
  });
});
