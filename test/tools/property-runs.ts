/** 1 in `npm run test:all`; a larger one looks longer. */
const share = Number(process.env.PROPERTY_RUNS ?? 0.4);

/** How many examples of a property are tried: this many by `npm run test:all`, fewer where a person waits. */
export const propertyRuns = (all: number): number => Math.ceil(all * share);
