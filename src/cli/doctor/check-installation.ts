import { bad, type Check, good } from './check.ts';

/** The oldest version of Node that docferry supports, as in package.json. */
const oldestNode = [20, 19] as const;

/** Versions of this installation. */
export function installationCheck({ node, docferry }: { node: string; docferry: string }): Check {
  const [major = 0, minor = 0] = node.split('.').map(Number);
  const detail = `docferry ${docferry} on Node ${node}`;
  const [oldestMajor, oldestMinor] = oldestNode;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return good('installation', detail);
  return bad('installation', detail, `install Node ${oldestMajor}.${oldestMinor} or newer`);
}
