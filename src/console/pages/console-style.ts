import { dark, figureStyle, light, variables } from '../../feedback/report/figure.ts';

const sans = 'system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,"Liberation Sans",sans-serif';

/** Shapes of health: the form says the same as the colour. */
const shapes: Readonly<Record<string, readonly [color: string, shape: string]>> = {
  good: ['good', 'border-radius:50%'],
  bad: ['bad', 'clip-path:polygon(50% 0,100% 100%,0 100%)'],
  wait: ['blue', 'clip-path:polygon(50% 0,100% 50%,50% 100%,0 50%)'],
  run: ['blue', 'clip-path:polygon(15% 0,100% 50%,15% 100%)'],
  drift: ['ochre', 'clip-path:polygon(0 0,60% 0,60% 40%,100% 40%,100% 100%,40% 100%,40% 60%,0 60%)'],
  held: ['plum', 'clip-path:polygon(5% 0,38% 0,38% 100%,62% 100%,62% 0,95% 0,95% 100%,5% 100%)'],
  stale: ['ochre', 'border-radius:50%;background:none;border:.1875rem solid'],
  none: ['stone', 'border-radius:50%;background:none;border:.125rem dotted'],
};
const shapeStyle = Object.entries(shapes)
  .map(([name, [color, shape]]) => `.health.${name}{color:var(--${color})}.health.${name}::before{${shape}}`)
  .join('\n');

/** The style of all pages of the console: the report's colours; tables become cards on a phone. */
export const consoleStyle = `
:root{color-scheme:light dark;${variables(light)};--sans:${sans};--serif:${sans};--marked:color-mix(in srgb,var(--ochre) 35%,var(--paper))}
@media (prefers-color-scheme:dark){:root{${variables(dark)}}}
*,*::before,*::after{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%;scroll-padding:1rem 0 4rem}
main{position:relative}
body{margin:0;background:var(--paper);color:var(--ink);font:.875rem/1.45 var(--sans);overflow-wrap:anywhere}
h1,h2,h3,p,ul,ol,dl,dd,fieldset,figure,blockquote{margin:0;padding:0}
ul,ol{list-style:none}
a{color:inherit;text-decoration-color:var(--rule);text-underline-offset:.2em}
a:hover{color:var(--focus);text-decoration-color:currentcolor}
:focus-visible{outline:2px solid var(--focus);outline-offset:1px;border-radius:2px}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.skip:focus{position:static;width:auto;height:auto;clip-path:none;display:inline-block;padding:.5rem 1rem}
.page{max-width:110rem;margin:0 auto;padding:0 1rem}
.top{display:flex;gap:1.25rem;align-items:center;min-height:2.75rem;border-bottom:1px solid var(--rule)}
.top .name{font-weight:600;text-decoration:none}
.top nav{flex:1;min-width:0}
.top ul{display:flex;flex-wrap:wrap;gap:0 1.125rem}
.top li a{display:inline-block;padding:.75rem 0 .625rem;text-decoration:none;color:var(--quiet);white-space:nowrap}
.top a[aria-current]{color:var(--ink);box-shadow:inset 0 -2px var(--ink)}
.top>#pages,.top>.pages{display:none}
.who{position:relative}
.menu summary{position:relative;white-space:nowrap}
.who summary{max-width:11rem;overflow:hidden;text-overflow:ellipsis}
.menu>:not(summary){position:absolute;z-index:2;right:0;margin-top:.25rem;padding:.875rem 1rem;background:var(--paper);border:1px solid var(--stone);border-radius:6px;box-shadow:0 6px 20px rgb(0 0 0/.2);display:grid;gap:.75rem;width:max-content;max-width:min(30rem,100vw - 2rem)}
.menu:not([open])>:not(summary){display:none}
summary{cursor:pointer;width:fit-content;padding:.25rem 0}
.who summary,.act summary{color:var(--quiet)}
h1{font-size:1.125rem;font-weight:600;line-height:1.3;margin:.625rem 0 .5rem}
h2{font-size:.9375rem;font-weight:600;margin-bottom:.5rem}
h3{font-size:.875rem;margin-bottom:.25rem}
.under{color:var(--quiet);margin:-.25rem 0 .75rem}
section{padding:.875rem 0}
.notice{border-left:4px solid var(--ochre);background:var(--wash);padding:.5rem .875rem;margin:.5rem 0}
.notice.good{border-color:var(--good)}
.notice.bad{border-color:var(--bad)}
.notice p+p{margin-top:.125rem;color:var(--quiet)}
.chips{display:flex;flex-wrap:wrap;gap:.25rem .375rem}
.chips a{display:inline-block;border:1px solid var(--rule);border-radius:2rem;padding:.1875rem .625rem;text-decoration:none}
.chips a[aria-current]{background:var(--ink);color:var(--paper);border-color:var(--ink)}
:is(main,section)>nav+.fine,nav+.under{margin:.25rem 0 .75rem}
.chips b{font-weight:600;font-variant-numeric:tabular-nums}
.state{font-weight:600}
.state.good{color:var(--good)}
.state.bad{color:var(--bad)}
.state.wait{color:var(--blue)}
.dense .state.good{font-weight:400}
.health::before{content:"";display:inline-block;width:.6875rem;height:.6875rem;margin-inline-end:.5rem;vertical-align:-.0625rem;background:currentcolor;forced-color-adjust:none;print-color-adjust:exact;-webkit-print-color-adjust:exact}
${shapeStyle}
.quiet,.fine{color:var(--quiet)}
.fine{font-size:.8125rem;font-weight:400}
.version{cursor:copy;white-space:nowrap;font-variant-numeric:tabular-nums}
form.filter,form.act,.fields{display:flex;flex-wrap:wrap;gap:.375rem .625rem;align-items:end}
form.filter,.fields{margin-bottom:.5rem}
label{font-size:.8125rem;color:var(--quiet)}
label.tick{color:inherit;font-size:inherit;align-self:center}
input,select,textarea,button,.button{font:inherit;color:var(--ink);background:var(--paper);border:1px solid var(--stone);border-radius:4px;padding:.1875rem .5rem;min-height:2rem;max-width:100%}
input[type=checkbox]{min-height:0;width:1.0625rem;height:1.0625rem;margin:0 .125rem;accent-color:var(--focus);vertical-align:-.1875rem}
.select input{width:1.5rem;height:1.5rem;margin:0}
.field{display:flex;flex-direction:column;min-width:0}
button,.button{cursor:pointer;padding-inline:.75rem;text-decoration:none;display:inline-flex;align-items:center;white-space:nowrap}
button:hover,.button:hover{border-color:var(--ink)}
button.first{background:var(--ink);color:var(--paper);border-color:var(--ink)}
.small{min-height:1.625rem;padding:0 .5rem;font-size:.8125rem}
.acts{display:grid;gap:.625rem}
.row{display:flex;flex-wrap:wrap;gap:.375rem .875rem;align-items:center}
.deck{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(19rem,100%),1fr));gap:.5rem}
.concerns{padding:0 0 .5rem}
.deck li{border:1px solid var(--rule);border-left:4px solid var(--ochre);border-radius:4px;padding:.375rem .625rem;min-width:0}
.deck li.bad{border-left-color:var(--bad)}
.deck li.wait{border-left-color:var(--blue)}
.deck p{white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.deck .why{white-space:normal;display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:4}
.deck a:not(.button){font-weight:600}
.deck .row{justify-content:space-between;flex-wrap:nowrap}
.ticked::before{content:counter(ticked) " selected";font-weight:600}
.bulk-of{counter-reset:ticked}
.bulk-of input:checked{counter-increment:ticked}
.bulk{display:flex;flex-wrap:wrap;gap:.5rem;align-items:center;padding:.5rem 0}
.bulk-of .bulk{padding-inline:.75rem;position:sticky;bottom:.5rem;width:fit-content;margin-top:.5rem;background:var(--paper);border:1px solid var(--stone);border-radius:6px;box-shadow:0 6px 20px rgb(0 0 0/.2)}
@supports selector(:has(*)){.bulk-of:not(:has(input:checked)) .bulk{display:none}}
.facts{display:grid;grid-template-columns:minmax(6rem,max-content) minmax(0,1fr);gap:.1875rem 1rem}
.facts dt{color:var(--quiet)}
progress{width:6rem;height:.625rem;accent-color:var(--blue)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums;overflow-wrap:normal}
th,td{padding:.375rem .875rem .375rem 0;text-align:left;border-bottom:1px solid var(--rule);vertical-align:top}
th{position:relative}
td{overflow-wrap:anywhere}
th[scope=row]{font-weight:500;overflow-wrap:anywhere;min-width:11rem}
thead th{color:var(--quiet);font-weight:400;font-size:.8125rem;white-space:nowrap;padding-block:.1875rem}
thead a{text-decoration:none}
th[scope=rowgroup]{padding-top:.75rem;color:var(--quiet);font-weight:600}
td time,dd time{white-space:nowrap}
.dense tbody tr{height:2.125rem}
.dense td,.dense th{padding-block:0;vertical-align:middle}
.dense tbody tr:hover,.dense tbody tr:focus-within{background:var(--wash)}
.dense form.act{flex-wrap:nowrap}
.line{display:block;width:100%;height:auto}
.line text{font:12px var(--sans);fill:var(--quiet);text-anchor:middle}
.line .hour{fill:var(--ink);font-size:13px}
.line line{stroke:var(--rule)}
.line circle{fill:var(--blue)}
.split{display:grid;gap:0 2.5rem}
.pair{display:grid;gap:0 2rem}
.pair section{padding:.25rem 0;min-width:0}
.decision{border:1px solid var(--rule);border-left:4px solid var(--blue);border-radius:4px;padding:.75rem 1rem;margin:.25rem 0 .5rem}
.changes{display:flex;flex-wrap:wrap;gap:.125rem 1.5rem}
.decision .row{align-items:end}
.changes ul{padding-left:1.25rem}
code,pre,kbd{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"Liberation Mono",monospace;font-size:.8125rem}
kbd{border:1px solid var(--stone);border-radius:3px;padding:0 .3125rem}
dialog{color:inherit;background:var(--paper);border:1px solid var(--stone);border-radius:6px;padding:1rem 1.25rem}
dialog form{margin-top:.75rem}
.text{margin-top:1.25rem}
.diff{border-left:3px solid var(--rule);padding:.25rem 0 .25rem .875rem;max-width:60rem;white-space:pre-wrap}
.diff li{padding:.0625rem 0}
.diff ins,.diff del{text-decoration:none;background:var(--wash);border-left:4px solid var(--good);display:block;padding-left:.5rem}
.diff del{border-color:var(--bad);text-decoration:line-through;text-decoration-color:var(--bad)}
${figureStyle}
.lead{margin-bottom:1rem;font-size:1.0625rem;max-width:60rem}
.key-figures strong{font-size:1.5rem}
.part{padding:1.5rem 0 2rem}
.part h3{font-size:1rem}
.bottom{margin-top:1rem;padding:.75rem 0 1.5rem;border-top:1px solid var(--rule);color:var(--quiet);font-size:.8125rem}
.narrow{max-width:42rem}
.narrow .facts{margin-bottom:1.25rem}
mark{background:var(--marked);color:inherit;border-radius:2px;box-shadow:0 0 0 1px var(--marked)}
.fields .sought{flex:1 1 18rem;max-width:40rem}
.fields .grow{flex:1 1 10rem;max-width:28rem}
input[pattern]{width:8rem}
main>figure{max-width:47.5rem;margin-bottom:1rem}
.hits{border-top:1px solid var(--rule)}
.hits>li{display:grid;grid-template-columns:minmax(0,1fr);gap:.25rem;padding:.625rem 0;border-bottom:1px solid var(--rule)}
.hits .page-of{font-weight:600}
.texts{display:grid;gap:.5rem;align-content:start;min-width:0}
.texts>*{margin:0;max-width:46rem}
.said{unicode-bidi:isolate;white-space:pre-line;font-size:.9375rem}
.code{margin:.25rem 0 0;padding:.5rem .75rem;background:var(--wash);border-radius:4px;white-space:pre-wrap;tab-size:2;unicode-bidi:isolate}
.previews{display:grid;gap:0 1.5rem}
.previews iframe{width:100%;height:75vh;border:1px solid var(--rule);background:#fff}
.history th[scope=row]{width:19rem;font-weight:400}
@media (min-width:48rem){
.dense td,.dense th{white-space:nowrap;overflow:hidden;text-overflow:ellipsis}
.dense :is(td[data-name=status],td[data-name=why]){width:50%;max-width:0}
.dense.told td[data-name=status]{padding-block:.25rem;white-space:normal}
.dense th[scope=row]{width:38%;max-width:0}
.dense.log th[scope=row]{width:16%}
.dense.ended th[scope=row]{width:24%}
.passes th[scope=row]{min-width:7rem}
.dense td[data-name=what]{width:26%;max-width:0}
.windows :is(td,th){vertical-align:middle;white-space:normal}
.windows th[scope=row]{min-width:0}
.dense .select{width:1.75rem;padding-right:.375rem}
.hits>li{grid-template-columns:16rem minmax(0,1fr);gap:2rem}
.beside{position:absolute;right:0;margin-top:-2.375rem}
.beside .field{flex-direction:row;align-items:center;gap:.375rem}
}
@media (min-width:64rem){
.previews{grid-template-columns:repeat(auto-fit,minmax(28rem,1fr))}
.page{padding:0 1.5rem}
.split{grid-template-columns:minmax(0,3fr) minmax(0,2fr)}
}
@media (min-width:75rem){.pair:has(section+section){grid-template-columns:minmax(0,7fr) minmax(0,5fr)}}
@media (max-width:29.99rem){
.facts{grid-template-columns:minmax(0,1fr);gap:0}
.facts dd{margin-bottom:.375rem}
}
@media (max-width:47.99rem){
.top .name,#day{display:none}
.beside .field:has([type=search]){flex:1 1 6rem}
.beside [type=search]{width:100%}
.who summary{max-width:5.5rem}
.top li a{padding-block:.375rem}
.cards thead{position:absolute;clip-path:inset(50%);width:1px;height:1px;overflow:hidden}
.cards tr{display:flex;flex-wrap:wrap;gap:0 .75rem;padding:.4375rem 0;border-bottom:1px solid var(--rule);height:auto!important}
.cards td,.cards th{border:0;padding:0}
.cards th[scope=row]{flex:1 1 80%;min-width:0}
.cards tr:has(.select) td:not(.select){margin-left:1.875rem}
.cards td[data-name]:not([data-name=""],[data-name=status])::before{content:attr(data-name) " ";color:var(--quiet);font-size:.8125rem}
.cards td:empty{display:none!important}
.dense th[scope=row],.deck p{white-space:normal}
}
@media (max-width:35.99rem){
.top{position:relative}
.top>#pages{display:block}
.top>.pages{display:block;flex:1;padding:.5rem 0;font-weight:600;cursor:pointer}
.pages::before{content:"\\25B8\\A0"}
:checked+.pages::before{content:"\\25BE\\A0"}
#pages:focus-visible+.pages{outline:2px solid var(--focus)}
.top nav{display:none;position:absolute;z-index:2;top:100%;left:0;padding:.25rem 1rem;background:var(--paper);border:1px solid var(--stone);border-radius:6px;box-shadow:0 6px 20px rgb(0 0 0/.2)}
.top>:checked~nav{display:block}
.top nav ul{display:grid}
}
@media print{
.top,.bulk,form.filter,form.act,button,.skip{display:none!important}
time[title]::after{content:" (" attr(title) ")";color:var(--quiet)}
}
`;
