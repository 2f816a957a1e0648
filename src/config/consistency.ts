import path from 'node:path';
import type { ConfigInput } from './file-schema.ts';
import { isSecure } from './is-secure.ts';
import type { Finding } from './expand.ts';

/** Contradictions between several fields. */
export function findContradictions(config: ConfigInput): Finding[] {
  const findings: Finding[] = [];
  const seen = new Set<string>();
  const once = (kind: string, value: string, at: PropertyKey[]) => {
    const key = `${kind} ${value}`;
    if (seen.has(key)) findings.push({ path: at, message: `this ${kind} is listed twice` });
    seen.add(key);
  };
  const secure = (value: string | undefined, at: PropertyKey[]) => {
    if (value === undefined || config.service.allowInsecure || isSecure(new URL(value))) return;
    findings.push({ path: at, message: 'expected https:// (service.allowInsecure: true permits http://)' });
  };
  secure(config.service.baseUrl, ['service', 'baseUrl']);
  secure(config.service.analyticsBaseUrl, ['service', 'analyticsBaseUrl']);
  secure(config.store.bundles.s3?.endpoint, ['store', 'bundles', 's3', 'endpoint']);
  findings.push(...consoleFindings(config.console));
  for (const [o, organization] of config.organizations.entries()) {
    const at = ['organizations', o];
    once('organization', organization.id, [...at, 'id']);
    const { requests, reserve } = organization.budget;
    if (reserve !== 'auto' && reserve >= requests) {
      findings.push({
        path: [...at, 'budget', 'reserve'],
        message: `expected less than requests, which is ${requests}`,
      });
    }
    for (const [w, { name, format, secret }] of organization.webhooks.entries()) {
      const secretAt = [...at, 'webhooks', w, 'secret'];
      if (format === 'standard' && secret === undefined) {
        findings.push({ path: secretAt, message: 'expected the key of the signature, whsec_…' });
      }
      if (format !== 'standard' && secret !== undefined) {
        findings.push({ path: secretAt, message: `goes with "format: standard" only: ${format} takes no signature` });
      }
      const isTwice = organization.webhooks.findIndex((other) => other.name === name) < w;
      const message = `another webhook is also called ${name}: give each a different name`;
      if (isTwice) findings.push({ path: [...at, 'webhooks', w], message });
    }
    for (const [p, { id, name }] of organization.projects.entries()) {
      once('project', id, [...at, 'projects', p, 'id']);
      if (name !== undefined) once('name', `${organization.id}/${name}`, [...at, 'projects', p, 'name']);
    }
    for (const [s, site] of organization.sites.entries()) {
      once('domain', site.domain, [...at, 'sites', s, 'domain']);
      if (site.approvalTimeout !== undefined && site.approval !== 'manual') {
        findings.push({ path: [...at, 'sites', s, 'approvalTimeout'], message: 'goes with "approval: manual" only' });
      }
      for (const [r, { directory, helmValues }] of site.rollout.entries()) {
        const targetAt = [...at, 'sites', s, 'rollout', r];
        if (directory) once('folder', path.resolve(directory.path), [...targetAt, 'directory', 'path']);
        if (helmValues) once('values file', path.resolve(helmValues.file), [...targetAt, 'helmValues', 'file']);
      }
    }
  }
  for (const [c, { name, org }] of config.gateway.clients.entries()) {
    once('client', name, ['gateway', 'clients', c, 'name']);
    const isKnown = config.organizations.some(({ id }) => id === org);
    const message = 'expected the id of an organization of this file';
    if (!isKnown) findings.push({ path: ['gateway', 'clients', c, 'org'], message });
  }
  return [...findings, ...privacyContradictions(config.privacy)];
}

/** The fields of an entry in service-interface.md. */
const interfaceFields = new Set(
  'id path comment createdAt source status helpful contact code filename lang'.split(' '),
);

function privacyContradictions({ contacts, comments, hashKey, keepFields }: ConfigInput['privacy']): Finding[] {
  const findings: Finding[] = [];
  const refuse = (wrong: boolean, field: string, message: string, ...index: number[]) => {
    if (wrong) findings.push({ path: ['privacy', field, ...index], message });
  };
  const hashed = contacts === 'hash' ? 'contacts' : comments === 'hash' ? 'comments' : null;
  refuse(hashed !== null && hashKey === undefined, 'hashKey', `expected a key, because privacy.${hashed} is hash`);
  refuse(hashed === null && hashKey !== undefined, 'hashKey', 'goes with contacts: hash or comments: hash');
  const isRestricted = contacts !== 'keep' || comments !== 'keep';
  refuse(
    !isRestricted && keepFields.length > 0,
    'keepFields',
    'works only with hash or drop: with keep, all fields are kept',
  );
  for (const [index, name] of keepFields.entries()) {
    const message = 'expected the name of a field that is not in the interface';
    refuse(isRestricted && interfaceFields.has(name), 'keepFields', message, index);
  }
  return findings;
}

function consoleFindings({ url, oidc, idle, lifetime }: ConfigInput['console']): Finding[] {
  const findings: Finding[] = [];
  if (idle > lifetime) {
    const message = 'expected at most console.lifetime (24h unless set), when the session ends anyway';
    findings.push({ path: ['console', 'idle'], message });
  }
  if (url !== undefined && new URL(url).pathname !== '/') {
    findings.push({
      path: ['console', 'url'],
      message: 'expected an address without a path: the console needs a separate host name',
    });
  }
  if (oidc !== undefined && !isSecure(new URL(oidc.issuer))) {
    findings.push({
      path: ['console', 'oidc', 'issuer'],
      message: 'expected https://: this address decides who may sign in',
    });
  }
  return findings;
}
