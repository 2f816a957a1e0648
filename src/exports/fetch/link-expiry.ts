const secondMs = 1_000;

/**
 * When a presigned link expires by its own query, in milliseconds by the store's clock: `X-Amz-Date` with `X-Amz-Expires`,
 * `X-Goog-Date` with `X-Goog-Expires`, `Expires` (a Unix time), `se` (Azure). Null when it does not say.
 */
export function expiryOf(link: string): number | null {
  if (!URL.canParse(link)) return null;
  const query = new Map([...new URL(link).searchParams].map(([name, value]) => [name.toLowerCase(), value]));
  for (const vendor of ['x-amz', 'x-goog']) {
    const from = stampOf(query.get(`${vendor}-date`));
    const seconds = wholeOf(query.get(`${vendor}-expires`));
    if (from !== null && seconds !== null) return from + seconds * secondMs;
  }
  const unix = wholeOf(query.get('expires'));
  if (unix !== null) return unix * secondMs;
  const azure = Date.parse(query.has('sig') ? (query.get('se') ?? '') : '');
  return Number.isNaN(azure) ? null : azure;
}

/** `20261121T040200Z`. */
function stampOf(text: string | undefined): number | null {
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text ?? '') ?? [];
  const ms = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(ms) ? null : ms;
}

function wholeOf(text: string | undefined): number | null {
  return /^\d{1,12}$/.test(text ?? '') ? Number(text) : null;
}
