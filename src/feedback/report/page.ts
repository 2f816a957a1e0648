import { createHash } from 'node:crypto';
import { filterScript } from './filter-script.ts';
import { Html, html, visible } from './html.ts';
import { projectPart, type ReportBounds, type ReportProject } from './project-part.ts';
import { styleSheet } from './style.ts';
import { momentText } from './words.ts';

export interface Report {
  madeAt: Date;
  bounds: ReportBounds;
  /** The projects that follow, in their order. */
  names: readonly { org: string; project: string; name?: string }[];
  /** Address of the page about all projects, if there is one. */
  overview?: string;
}

/**
 * The report as one self-contained page (docs/decisions/0048), in pieces: head, one for each project, foot. Its
 * policy lets a browser load nothing and run only the script inside it.
 */
export async function* reportPage(report: Report, projects: AsyncIterable<ReportProject>): AsyncGenerator<string> {
  yield head(report).toString();
  let number = 0;
  for await (const project of projects) {
    number += 1;
    yield projectPart(project, report.bounds, `p${number}`).toString();
  }
  yield pageFoot().toString();
}

function head({ madeAt, names, overview }: Report): Html {
  const [first] = names;
  const title =
    names.length === 1 && first !== undefined ? `Feedback on ${visible(first.name ?? first.project)}` : 'Feedback';
  const back =
    overview !== undefined &&
    html`<nav aria-label="Overview"><ul class="contents"><li><a href="${overview}">All projects</a></li></ul></nav>`;
  return pageHead({ title, madeAt, aside: html`${names.length > 1 && contents(names)}${back}` });
}

/** The beginning of a page, up to its content; `aside` comes before that. */
export function pageHead({ title, madeAt, aside }: { title: string; madeAt: Date; aside: Html }): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy()}">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex, nofollow">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="docferry">
<title>${title}</title>
<link rel="icon" href="data:,">
<style>${new Html(styleSheet)}</style>
</head>
<body>
<div class="page">
<header class="top"><h1>Feedback report</h1><p>${momentText(madeAt.toISOString())}</p></header>
${aside}
<main>
`;
}

function contents(names: Report['names']): Html {
  const links = names.map(
    ({ org, project, name }, index) =>
      html`<li><a href="#p${index + 1}"><bdi>${visible(name ?? project)}</bdi></a> <bdi>${visible(org)}</bdi></li>`,
  );
  return html`<nav aria-label="Projects"><ul class="contents">${links}</ul></nav>`;
}

export function pageFoot(): Html {
  return html`</main>
<footer class="bottom"><p>Made by docferry from your feedback store. Times are UTC. Entries that the service no longer has are left out, as are contacts and code. This file loads nothing and sends nothing.</p></footer>
</div>
<script>${new Html(filterScript)}</script>
</body>
</html>
`;
}

/** Allows only the style and the script inside the page, by their digests, and its empty icon. */
function policy(): string {
  return [
    "default-src 'none'",
    `style-src '${digest(styleSheet)}'`,
    `script-src '${digest(filterScript)}'`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
}

function digest(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
