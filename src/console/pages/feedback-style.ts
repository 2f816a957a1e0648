/** What only the pages of feedback need. */
export const feedbackStyle = `
:root{--marked:color-mix(in srgb,var(--ochre) 35%,var(--paper))}
mark{background:var(--marked);color:inherit;border-radius:2px;box-shadow:0 0 0 1px var(--marked)}
.fields{display:flex;flex-wrap:wrap;gap:.5rem .75rem;align-items:end;margin:.5rem 0}
.fields .sought{flex:1 1 18rem;max-width:40rem}
.fields .grow{flex:1 1 14rem;max-width:28rem}
.more{margin:.25rem 0 1rem}
.more summary{cursor:pointer;padding:.375rem 0;width:fit-content}
.hits{border-top:1px solid var(--rule)}
.hits>li{display:grid;grid-template-columns:minmax(0,1fr);gap:.75rem;padding:1.125rem 0;border-bottom:1px solid var(--rule)}
.hits .page-of{font-weight:600;margin-bottom:.25rem}
.texts{display:grid;gap:.75rem;align-content:start;min-width:0}
.texts>*{margin:0;max-width:46rem}
.state bdi{white-space:normal}
.said{unicode-bidi:isolate;white-space:pre-line;font:400 1.0625rem/1.5 var(--serif)}
.code{margin:.25rem 0 0;padding:.75rem 1rem;background:var(--wash);border-radius:4px;white-space:pre-wrap;font-size:.875rem;tab-size:2;unicode-bidi:isolate}
.history th[scope=row]{width:19rem;font-weight:400}
@media (min-width:64rem){.hits>li{grid-template-columns:18rem minmax(0,1fr);gap:2.5rem}}
`;
