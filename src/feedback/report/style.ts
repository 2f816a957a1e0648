import { figureStyle } from './figure-style.ts';
import { dark, light, variables } from './palette.ts';

const sans = '"Avenir Next",Avenir,"Segoe UI",Roboto,"Helvetica Neue",Arial,"Liberation Sans",system-ui,sans-serif';
const serif = '"Iowan Old Style",Charter,"Source Serif 4","Palatino Linotype",Georgia,"Liberation Serif",serif';

/** The page's style: a column for text, a wide one for figures; one column on a phone; black on white in print. */
export const styleSheet = `
:root{color-scheme:light dark;${variables(light)};--sans:${sans};--serif:${serif}}
@media (prefers-color-scheme:dark){:root{${variables(dark)}}}
*,*::before,*::after{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%;scroll-padding-top:1rem}
body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.55 var(--sans);overflow-wrap:anywhere}
h1,h2,h3,h4,p,ul,ol,dl,dd,figure,blockquote{margin:0;padding:0}
ul,ol{list-style:none}
a{color:inherit;text-decoration-color:var(--focus);text-underline-offset:.2em}
a:hover{color:var(--focus)}
:focus-visible{outline:3px solid var(--focus);outline-offset:3px;border-radius:2px}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.page{max-width:73rem;margin:0 auto;padding:0 1.25rem}
.top,.bottom{display:flex;justify-content:space-between;gap:.125rem 1rem;flex-wrap:wrap;color:var(--quiet);font-size:.875rem}
.top{padding:1rem 0;border-bottom:1px solid var(--rule)}
.top h1{font:600 .875rem/1.55 var(--sans);color:var(--ink);letter-spacing:.01em}
.bottom{padding:1.5rem 0 3rem;border-top:1px solid var(--rule)}
.bottom p{max-width:44rem}
.contents{display:flex;flex-wrap:wrap;gap:.25rem 1.5rem;padding:.875rem 0;border-bottom:1px solid var(--rule);font-size:.9375rem;color:var(--quiet)}
.contents a{color:var(--ink);font-weight:600}
.project+.project{border-top:3px solid var(--ink)}
.masthead{padding:3rem 0 2.25rem}
.kicker{color:var(--quiet);font-size:.9375rem}
.masthead h2{font:500 clamp(2.25rem,1.6rem + 3.2vw,3.75rem)/1.08 var(--serif);letter-spacing:-.015em;margin:.125rem 0 1.25rem}
.fine{color:var(--quiet);font-size:.875rem;margin-top:1rem}
.scroll{overflow-x:auto;margin-top:.5rem;max-height:30rem;overflow-y:auto;overflow-wrap:normal}
.ranking{overflow-x:auto;overflow-wrap:normal;font-size:.875rem}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.375rem 1rem .375rem 0;text-align:right;border-bottom:1px solid var(--rule);vertical-align:baseline;white-space:nowrap}
th:first-child{text-align:left;font-weight:400;white-space:normal;min-width:8rem;overflow-wrap:anywhere}
thead th{color:var(--quiet);font-weight:400}
.quotes{display:grid;gap:1.75rem 2.5rem}
.quotes h4{font:600 .875rem/1.4 var(--sans);margin-bottom:.375rem}
.quotes blockquote,.comments blockquote{unicode-bidi:isolate;white-space:pre-line;max-width:40rem}
.quotes blockquote{font:400 1.0625rem/1.5 var(--serif)}
.quotes blockquote:not(:first-of-type){margin-top:.5rem;padding-top:.5rem;border-top:1px solid var(--rule)}
.times{color:var(--quiet);font-size:.875rem}
.cut{color:var(--quiet);font-style:normal;font-family:var(--sans);font-size:.875rem}
.filters{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:.75rem 1rem;align-items:end;padding:1rem;margin-top:1.5rem;background:var(--wash);border-radius:4px;font-size:.875rem}
.filters[hidden]{display:none}
.filters label{display:block;margin-bottom:.25rem}
.filters input,.filters select,.filters button{font:inherit;font-size:1rem;color:var(--ink);background:var(--paper);border:1px solid var(--stone);border-radius:4px;padding:.4375rem .625rem;width:100%;min-height:2.75rem}
.filters button{cursor:pointer;width:auto;padding-inline:1.125rem}
.filters button:hover{border-color:var(--ink)}
.shown{align-self:center;color:var(--quiet);text-align:right}
.comments{margin-top:.5rem}
.comments li{padding:1.125rem 0;border-bottom:1px solid var(--rule)}
.comments li[hidden]{display:none}
.of{font-size:.875rem;margin-bottom:.375rem}
.of .path{font-weight:600;display:block}
.of .facts{color:var(--quiet)}
.vote{white-space:nowrap}
.vote::before{content:"· ";color:var(--quiet)}
.vote.yes{color:var(--good)}
.vote.no{color:var(--bad)}
.comments blockquote{font:400 1.125rem/1.5 var(--serif)}
${figureStyle}
@media (min-width:35rem){
.quotes{grid-template-columns:repeat(2,minmax(0,1fr))}
}
@media (min-width:48rem){
.page{padding:0 2.5rem}
.filters{grid-template-columns:repeat(4,minmax(0,1fr))}
.filters .end{grid-column:1/4}
.comments li{display:grid;grid-template-columns:16rem minmax(0,1fr);gap:2.5rem}
.of .facts{display:block;margin-top:.25rem}
}
@media print{
:root{${variables(light)};--paper:#fff;--wash:#fff}
body{font-size:10pt}
.page{max-width:none;padding:0}
.masthead{padding:1.5rem 0}
.part{display:block;padding:1.5rem 0}
.part>header{position:static;break-after:avoid}
.figures{margin-top:1rem;gap:1.5rem}
figure,.comments li,.quotes li,.key-figures{break-inside:avoid}
figure>svg.wide{display:block}
figure>svg.narrow{display:none}
.filters,.numbers:not([open]){display:none}
.scroll{max-height:none;overflow:visible}
}
`;
