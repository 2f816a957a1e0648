/** Programs, folders, proxies, certificate authorities and languages. */
const needed: ReadonlySet<string> = new Set([
  ...[
    'PATH',
    'HOME',
    'TMPDIR',
    'TMP',
    'TEMP',
    'XDG_CACHE_HOME',
    'XDG_CONFIG_HOME',
    'JAVA_HOME',
    'LANG',
    'LC_ALL',
    'TZ',
  ],
  ...['USERPROFILE', 'LOCALAPPDATA', 'APPDATA', 'SYSTEMROOT', 'PATHEXT', 'COMSPEC'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY', 'NODE_USE_ENV_PROXY'],
  ...['SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_EXTRA_CA_CERTS'],
]);

/** Go's own settings, such as GOPROXY; not GOOGLE_… */
const ofGo = /^(GO|CGO_)[A-Z0-9]+$/;

/** What a program that builds, downloads or looks at processes needs of an environment: no key or other secret of docferry. */
export function neededVariables(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isNeeded = (name: string) => needed.has(name.toUpperCase()) || ofGo.test(name);
  return Object.fromEntries(Object.entries(env).filter(([name]) => isNeeded(name)));
}
