/** The style of key figures and charts, which the console shows too: one column on a phone, text beside charts on a desk. */
export const figureStyle = `
.lead{font:400 clamp(1.25rem,1.1rem + .8vw,1.625rem)/1.4 var(--serif);max-width:44rem;text-wrap:pretty}
.key-figures{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));border-top:1px solid var(--ink);margin-bottom:1rem}
.key-figures div{padding:.875rem 1rem 1.125rem 0;border-bottom:1px solid var(--rule);display:flex;flex-direction:column}
.key-figures dt{font-size:.875rem;color:var(--quiet)}
.key-figures strong{display:block;font:500 clamp(1.75rem,1.4rem + 1.6vw,2.5rem)/1.2 var(--serif);font-variant-numeric:lining-nums;letter-spacing:-.01em}
.key-figures dd span{display:block;font-size:.875rem;line-height:1.4;color:var(--quiet)}
.part,.words{padding:2.75rem 0 3rem;border-top:1px solid var(--rule)}
.key-figures+.part{border-top:0}
.part h3,.words h3{font:500 1.625rem/1.2 var(--serif);letter-spacing:-.005em;margin-bottom:.625rem;text-wrap:balance}
.part>header p,.words>header p{color:var(--quiet);font-size:.9375rem;max-width:36rem;text-wrap:pretty}
.figures{display:grid;gap:3rem;margin-top:1.75rem;min-width:0}
.figures:empty{display:none}
figure{min-width:0}
figcaption{font-weight:600;font-size:.9375rem;line-height:1.4;margin-bottom:.625rem;text-wrap:balance}
figure>svg{display:block;width:100%;height:auto;font-family:var(--sans)}
figure>svg.wide{display:none}
svg text{font-variant-numeric:tabular-nums}
.legend{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;font-size:.875rem;color:var(--ink);margin-bottom:.75rem}
.legend b{font-weight:400;color:var(--quiet)}
.legend .key{width:.7em;height:.7em;margin-inline-end:.45em}
.note{color:var(--quiet);font-size:.875rem;margin-top:.5rem}
.numbers{margin-top:.75rem;font-size:.875rem}
.numbers summary{cursor:pointer;color:var(--quiet);width:fit-content;padding:.25rem .5rem .25rem 0}
.numbers summary:hover{color:var(--ink)}
@media (min-width:35rem){
figure>svg.wide{display:block}
figure>svg.narrow{display:none}
}
@media (min-width:48rem){
.key-figures{grid-template-columns:repeat(4,minmax(0,1fr));border-bottom:1px solid var(--rule)}
.key-figures div{border-bottom:0}
.key-figures div+div{padding-left:1.25rem;border-left:1px solid var(--rule)}
}
@media (min-width:64rem){
.part{display:grid;grid-template-columns:16rem minmax(0,1fr);gap:2.5rem}
.part>header{align-self:start;position:sticky;top:2rem}
.figures{margin-top:.25rem}
}
`;
