/** What only the pages of feedback need. */
export const feedbackStyle = `
mark{background:var(--marked);color:inherit;border-radius:2px;box-shadow:0 0 0 1px var(--marked)}
:root{--marked:color-mix(in srgb,var(--ochre) 35%,var(--paper))}
details.more{margin:0 0 1rem}
details.more summary{cursor:pointer;padding:.375rem 0;width:fit-content}
form.filter .words{flex:1 1 20rem}
form.filter .grow{flex:1 1 14rem}
.more form.filter,.more .filter{margin:.5rem 0}
.fields{display:flex;flex-wrap:wrap;gap:.5rem .75rem;padding:.5rem 0}
.hits{border-top:1px solid var(--rule)}
.hits>li{display:grid;gap:.5rem;padding:1.125rem 0;border-bottom:1px solid var(--rule)}
.hits .about>*+*{margin-top:.125rem}
.hits .page-of{font-weight:600}
.said{unicode-bidi:isolate;white-space:pre-line;font:400 1.0625rem/1.5 var(--serif);max-width:46rem}
.code{margin:0;padding:.75rem 1rem;background:var(--wash);border-radius:4px;white-space:pre-wrap;overflow-wrap:anywhere;font-size:.875rem;tab-size:2;max-width:46rem;unicode-bidi:isolate}
.texts{display:grid;gap:.625rem;align-content:start;min-width:0}
@media (min-width:64rem){.hits>li{grid-template-columns:18rem minmax(0,1fr);gap:2.5rem}}
`;
