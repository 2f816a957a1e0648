import { dark, figureStyle, light, variables } from '../../feedback/report/figure.ts';

/** What only the pages of feedback need. */
const feedbackStyle = `
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

/** What only the page of a preview needs. */
const previewStyle = `
.previews{display:grid;gap:0 1.5rem}
.previews iframe{width:100%;height:75vh;border:1px solid var(--rule);background:#fff}
@media (min-width:64rem){.previews{grid-template-columns:repeat(auto-fit,minmax(28rem,1fr))}}
`;

const sans = '"Avenir Next",Avenir,"Segoe UI",Roboto,"Helvetica Neue",Arial,"Liberation Sans",system-ui,sans-serif';
const serif = '"Iowan Old Style",Charter,"Source Serif 4","Palatino Linotype",Georgia,"Liberation Serif",serif';

/** The style of all pages of the console: the report's colours and type; tables become cards on a phone. */
export const consoleStyle = `
:root{color-scheme:light dark;${variables(light)};--sans:${sans};--serif:${serif}}
@media (prefers-color-scheme:dark){:root{${variables(dark)}}}
*,*::before,*::after{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.5 var(--sans);overflow-wrap:anywhere}
h1,h2,h3,p,ul,ol,dl,dd,fieldset,figure{margin:0;padding:0}
ul,ol{list-style:none}
fieldset{border:0;min-width:0}
a{color:inherit;text-decoration-color:var(--focus);text-underline-offset:.2em}
a:hover{color:var(--focus)}
:focus-visible{outline:3px solid var(--focus);outline-offset:2px;border-radius:2px}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.skip:focus{position:static;width:auto;height:auto;clip-path:none;display:inline-block;padding:.5rem 1rem}
.page{max-width:90rem;margin:0 auto;padding:0 1.25rem}
.top{display:flex;flex-wrap:wrap;gap:.25rem 1.5rem;align-items:center;padding:.75rem 0;border-bottom:1px solid var(--rule);font-size:.9375rem}
.top .name{font-weight:600;text-decoration:none}
.top ul{display:flex;flex-wrap:wrap;gap:0 1.25rem}
.top li a{display:inline-block;padding:.375rem 0;text-decoration:none}
.top a[aria-current]{box-shadow:inset 0 -2px var(--ink)}
.top .who{margin-left:auto;display:flex;gap:.75rem;align-items:center;color:var(--quiet);font-size:.875rem}
h1{font:500 clamp(1.75rem,1.4rem + 1.8vw,2.75rem)/1.1 var(--serif);letter-spacing:-.01em;margin:1.75rem 0 .5rem}
h2{font:500 1.375rem/1.25 var(--serif);margin-bottom:.75rem}
.under{color:var(--quiet);margin-bottom:1.25rem}
section{padding:1.5rem 0;border-top:1px solid var(--rule)}
.notice{border-left:4px solid var(--ochre);background:var(--wash);padding:.75rem 1rem;margin:1rem 0}
.notice.good{border-color:var(--good)}
.notice.bad{border-color:var(--bad)}
.notice p+p{margin-top:.25rem;color:var(--quiet)}
.chips{display:flex;flex-wrap:wrap;gap:.5rem;margin:.5rem 0 1rem}
.chips a{display:inline-block;border:1px solid var(--stone);border-radius:2rem;padding:.375rem .875rem;text-decoration:none;font-size:.9375rem}
.chips a[aria-current]{background:var(--ink);color:var(--paper);border-color:var(--ink)}
.chips b{font-weight:600;font-variant-numeric:tabular-nums}
.state{font-weight:600;white-space:nowrap}
.state.good{color:var(--good)}
.state.bad{color:var(--bad)}
.state.wait{color:var(--blue)}
.quiet{color:var(--quiet)}
.why{max-width:24rem}
.fine{color:var(--quiet);font-size:.875rem;font-weight:400}
form.filter,form.act{display:flex;flex-wrap:wrap;gap:.5rem .75rem;align-items:end}
form.act .about{flex-basis:100%;font-weight:600}
form.filter{margin:.5rem 0 1rem}
label{font-size:.875rem;color:var(--quiet)}
label.tick{color:inherit;font-size:1rem}
input,select,textarea,button,.button{font:inherit;color:var(--ink);background:var(--paper);border:1px solid var(--stone);border-radius:4px;padding:.375rem .625rem;min-height:2.75rem;max-width:100%}
input[type=checkbox]{min-height:0;width:1.25rem;height:1.25rem;margin:.125rem;accent-color:var(--focus);vertical-align:middle}
.field{display:flex;flex-direction:column;gap:.125rem;min-width:0}
button,.button{cursor:pointer;padding-inline:1rem;text-decoration:none;display:inline-flex;align-items:center}
button:hover{border-color:var(--ink)}
button.first{background:var(--ink);color:var(--paper);border-color:var(--ink)}
button.small{min-height:2.25rem;padding-inline:.75rem;font-size:.875rem}
.acts{display:grid;gap:1rem}
.row{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:baseline}
.bulk{display:flex;flex-wrap:wrap;gap:.5rem;align-items:center;padding:.75rem 0}
.facts{display:grid;grid-template-columns:minmax(7rem,max-content) minmax(0,1fr);gap:.375rem 1.25rem}
.facts dt{color:var(--quiet)}
progress{width:min(16rem,55%);height:.75rem;accent-color:var(--blue)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.9375rem;font-variant-numeric:tabular-nums;overflow-wrap:normal}
th,td{padding:.5rem 1rem .5rem 0;text-align:left;border-bottom:1px solid var(--rule);vertical-align:top}
td{overflow-wrap:anywhere}
th[scope=row]{font-weight:600;min-width:9rem;overflow-wrap:anywhere}
thead th{color:var(--quiet);font-weight:400;font-size:.875rem;white-space:nowrap}
time span{white-space:nowrap}
.chips .utc{color:inherit}
.utc{color:var(--quiet);font-size:.875em}
td time.zoned .utc{display:block}
:not(td)>time.zoned .utc::before{content:"("}
:not(td)>time.zoned .utc::after{content:")"}
td div>time.zoned .utc::before,td div>time.zoned .utc::after{content:none}
.line{display:block;width:100%;height:auto}
.line.wide{display:none}
.line text{font:12px var(--sans);fill:var(--quiet);text-anchor:middle}
.line .hour{fill:var(--ink);font-size:13px}
.line line{stroke:var(--rule)}
.line circle{fill:var(--blue)}
.split{display:grid;gap:0 3rem}
.changes{display:grid;gap:.25rem;margin-top:.5rem}
.changes code{font-size:.875rem}
.changes summary{cursor:pointer;padding:.25rem 0;width:fit-content}
.changes ul{padding-left:1.25rem}
.text{margin-top:1.25rem}
h3{font-size:1rem;margin-bottom:.375rem}
.diff{border-left:3px solid var(--rule);padding:.25rem 0 .25rem .875rem;max-width:60rem;white-space:pre-wrap}
.diff li{padding:.0625rem 0}
.diff ins,.diff del{text-decoration:none;background:var(--wash);border-left:4px solid var(--good);display:block;padding-left:.5rem}
.diff del{border-color:var(--bad);text-decoration:line-through;text-decoration-color:var(--bad)}
${figureStyle}
.lead{margin-bottom:1.25rem}
.bottom{margin-top:1.5rem;padding:1.5rem 0 3rem;border-top:1px solid var(--rule);color:var(--quiet);font-size:.875rem}
.narrow{max-width:42rem}
.narrow .facts{margin-bottom:1.25rem}
@media (min-width:48rem){
.line.wide{display:block}
.line.narrow{display:none}
}
@media (min-width:64rem){
.page{padding:0 2.5rem}
th[scope=row]{min-width:12.5rem}
.audit th[scope=row]{min-width:8rem}
.audit td:first-of-type{min-width:14rem}
.audit td[data-name=who]{min-width:6rem}
.split{grid-template-columns:minmax(0,3fr) minmax(0,2fr)}
}
@media (max-width:29.99rem){
.facts{grid-template-columns:minmax(0,1fr);gap:0}
.facts dd{margin-bottom:.5rem}
}
@media (max-width:47.99rem){
.cards thead{position:absolute;clip-path:inset(50%);width:1px;height:1px;overflow:hidden}
.cards tr{display:grid;grid-template-columns:auto minmax(0,1fr);gap:.125rem .75rem;padding:.875rem 0;border-bottom:1px solid var(--rule)}
.cards td,.cards th{border:0;padding:0}
.cards td.select{grid-row:1}
.cards th[scope=row]{grid-row:1;min-width:0}
.cards tr:not(:has(.select)) th[scope=row]{grid-column:1/-1}
.cards td:not(.select){grid-column:1/-1;position:relative;padding-left:8.25rem}
.cards td:not(.select)::before{content:attr(data-name);position:absolute;left:0;color:var(--quiet);font-size:.875rem}
.cards td[data-name=""]{padding-left:0}
.cards td:empty{display:none!important}
.cards time span,.cards .state{white-space:normal}
}
${feedbackStyle}${previewStyle}@media print{.top,.bulk,form{display:none!important}}
`;
