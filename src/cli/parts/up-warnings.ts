import type { Sandbox } from '../../../sandbox/index.ts';
import type { Config } from '../../config/config.ts';
import { isLoopback } from '../../rules/loopback.ts';
import type { Output } from '../terminal/output.ts';

interface UpSetting {
  /** Null for `--no-server`. */
  temporalPort: number | null;
  bundlePort: number;
  sandbox: Sandbox | null;
}

/** Warns of settings that disagree and would cause confusing failures later. */
export function warnOfSurprises(
  output: Output,
  config: Config,
  { temporalPort, bundlePort, sandbox }: UpSetting,
): void {
  if (temporalPort !== null) warnOfOtherTemporal(output, config, temporalPort);
  warnOfOtherBundlePort(output, config, bundlePort);
  if (sandbox !== null) warnOfOtherService(output, config, sandbox);
}

/** Published addresses name `publicUrl`, even when another program listens there. */
export function warnOfOtherBundlePort(output: Output, { store }: Config, bundlePort: number): void {
  const { publicUrl } = store.bundles;
  const { hostname, port } = new URL(publicUrl);
  if (!isLoopback(hostname) || port === String(bundlePort)) return;
  output.warn(`store.bundles.publicUrl is ${publicUrl}, but the bundle server listens on port ${bundlePort}`);
}

/** Bundles are often documentation for customers only. */
export function warnOfOpenServer(output: Output, { store }: Config, host: string): void {
  if (isLoopback(host) || store.bundles.server.token !== null) return;
  output.warn(
    `bundles are served at ${host} without a token: every client that reaches this address can read them; set store.bundles.server.token`,
  );
}

/** An eavesdropper who reads a token can use up the organization's requests. */
export function warnOfOpenGateway(output: Output, host: string): void {
  if (isLoopback(host)) return;
  output.warn(`tokens and feedback travel to ${host} unencrypted: let only a TLS proxy or a private network reach it`);
}

/** An eavesdropper who reads a session's cookie can act in its name. */
export function warnOfOpenConsole(output: Output, { console }: Config, host: string): void {
  if (isLoopback(host) || console.url?.startsWith('https:')) return;
  output.warn(
    `sessions travel to ${host} unencrypted: put a TLS proxy in front of it, and its address into console.url`,
  );
}

/** Says so when `--no-link` leaves no way to sign in. */
export function warnOfNoSignIn(output: Output, { console }: Config, link: boolean): void {
  if (link || console.proxy !== null || console.oidc !== null) return;
  output.warn('nobody can sign in to the console: --no-link, and neither console.proxy nor console.oidc is configured');
}

function warnOfOtherTemporal(output: Output, { temporal }: Config, port: number): void {
  const [host = '', configuredPort] = temporal.address.split(':');
  if (isLoopback(host) && configuredPort === String(port)) return;
  output.warn(
    `the embedded Temporal is at 127.0.0.1:${port}, but other commands use ${temporal.address}: set temporal.address`,
  );
}

function warnOfOtherService(output: Output, { service, organizations }: Config, sandbox: Sandbox): void {
  const { port } = new URL(sandbox.url);
  const configured = new URL(service.baseUrl);
  if (!isLoopback(configured.hostname) || configured.port !== port) {
    output.warn(`service.baseUrl is ${service.baseUrl}, not the sandbox at ${sandbox.url}`);
    return;
  }
  for (const { id, apiKey } of organizations) {
    const expected = sandbox.organizations.find((organization) => organization.id === id)?.apiKey;
    if (expected !== apiKey.read()) output.warn(`the sandbox will refuse the key of ${id}: it expects ${expected}`);
  }
}
