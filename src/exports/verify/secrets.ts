/** What a secret begins with: a quick first search that few files match. */
const secretStart = /-----BEGIN |AKIA|gh[pousr]_|github_pat_|xox[abprs]-|[sr]k_live_|npm_|glpat-/g;

const shapes: readonly (readonly [string, RegExp])[] = [
  [
    'a private key',
    /-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:\\n|\s){1,9}(?:[A-Za-z-]{1,40}: [^\n]{0,200}\n\s{0,9}){0,9}[A-Za-z0-9+/=]{40}/y,
  ],
  ['an access key of AWS', /AKIA(?![0-9A-Z]{0,9}EXAMPLE)[0-9A-Z]{16}\b/y],
  ['a token of GitHub', /gh[pousr]_[A-Za-z0-9]{36}\b|github_pat_[A-Za-z0-9_]{60}/y],
  ['a token of Slack', /xox[abprs]-[0-9]+-[0-9A-Za-z-]{20}/y],
  ['a key of Stripe', /[sr]k_live_[0-9A-Za-z]{20}/y],
  ['a token of npm', /npm_[A-Za-z0-9]{36}\b/y],
  ['a token of GitLab', /glpat-[A-Za-z0-9_-]{20}\b/y],
];

const secretFiles: readonly (readonly [string, RegExp])[] = [
  ['part of a Git repository', /(?:^|\/)\.(?:git|svn|hg)\//],
  ['environment variables', /(?:^|\/)\.env(?:\.(?!example$|sample$|template$)[^/]*)?$/i],
  ['a private key', /(?:^|\/)id_(?:rsa|dsa|ecdsa|ed25519)$|\.(?:p12|pfx|jks|keystore|ppk)$/i],
  [
    'credentials',
    /(?:^|\/)(?:\.npmrc|\.netrc|\.pypirc|\.htpasswd|\.git-credentials|\.docker\/config\.json|\.aws\/credentials)$/,
  ],
];

/** What looks like a secret in a text, and where; never the secret itself. */
export function secretsIn(text: string): { what: string; at: number }[] {
  const found: { what: string; at: number }[] = [];
  for (const { index } of text.matchAll(secretStart)) {
    const what = shapeAt(text, index);
    if (what !== null) found.push({ what, at: index });
  }
  return found;
}

/** What kind of file, that no site should contain, a path names; null for others. */
export function secretFile(path: string): string | null {
  return secretFiles.find(([, pattern]) => pattern.test(path))?.[0] ?? null;
}

function shapeAt(text: string, at: number): string | null {
  for (const [what, pattern] of shapes) {
    pattern.lastIndex = at;
    if (pattern.test(text)) return what;
  }
  return null;
}
