import { type Html, html } from './html.ts';

export interface Section {
  id: string;
  title: string;
  /** A sentence or two about the figures. */
  intro: Html | string;
  body: readonly (Html | null)[];
}

/** A part of a project's report: heading and text on one side, figures on the other. */
export function section({ id, title, intro, body }: Section): Html {
  return html`<section class="part" id="${id}" aria-labelledby="${id}-title">
<header><h3 id="${id}-title">${title}</h3>
<p>${intro}</p></header>
<div class="figures">${body}</div>
</section>
`;
}
