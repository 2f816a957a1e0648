import { BarChart, CustomChart, LineChart } from 'echarts/charts';
import { GridComponent } from 'echarts/components';
import { type EChartsCoreOption, init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import { Html } from './html.ts';
import { colorOf } from './palette.ts';

use([BarChart, CustomChart, LineChart, GridComponent, SVGRenderer]);

export interface ChartSize {
  width: number;
  height: number;
}

/** Font size in charts, in their own pixels. */
export const fontSize = 13;

let drawn = 0;

/**
 * Draws a chart as an `<svg>` for a page with a strict policy: no style elements or attributes, unique ids. Colours are
 * CSS variables, so that one drawing serves both colour schemes.
 */
export function drawChart(option: EChartsCoreOption, { width, height }: ChartSize, attributes: Html): Html {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height });
  try {
    chart.setOption({
      animation: false,
      textStyle: { fontFamily: 'inherit', fontSize, color: colorOf('quiet') },
      ...option,
    });
    drawn += 1;
    return new Html(standalone(chart.renderToSVGString(), { width, height }, attributes, `c${drawn}`));
  } finally {
    // Otherwise a timer of the chart keeps the process alive.
    chart.dispose();
  }
}

/** The renderer escapes every `<`, `>` and `"` of a text, so whatever is between `<` and `>` is one of its tags. */
function standalone(svg: string, { width, height }: ChartSize, attributes: Html, prefix: string): string {
  return svg
    .replaceAll(/<style[^<>]*>(?:[^<]|<!)*<\/style>/g, '')
    .replaceAll(/<rect [^<>]*><\/rect>/g, (rect) => (rect.includes('fill="none"') ? '' : rect))
    .replaceAll(/<\w[^<>]*>/g, (tag) => plainTag(tag, prefix))
    .replaceAll(/\n+/g, '\n')
    .replace(/^<svg[^<>]*>/, () => `<svg ${attributes} viewBox="0 0 ${width} ${height}">`);
}

function plainTag(tag: string, prefix: string): string {
  return tag
    .replaceAll(/ (?:class|pointer-events|ecmeta_\w+|xml:space)="[^"]*"/g, '')
    .replaceAll(/ style="([^"]*)"/g, (_, style: string) => presentation(style))
    .replaceAll(/(id="|url\(#)zr\d+-/g, `$1${prefix}-`)
    .replaceAll(/(\d\.\d{2})\d+/g, '$1');
}

/** Declarations as attributes; the font comes from the page. */
function presentation(style: string): string {
  return style
    .split(';')
    .map((declaration) => declaration.split(':'))
    .filter(([name]) => name === 'font-size' || name === 'font-weight')
    .map(([name = '', value = '']) => ` ${name}="${value.trim()}"`)
    .join('');
}
