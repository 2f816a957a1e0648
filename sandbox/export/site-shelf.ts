import type { Organization } from '../organizations.ts';
import { pagePaths, type SiteContent } from './site.ts';

/** The published sites and their present revision. */
export class SiteShelf {
  readonly #sites = new Map<string, { org: string; content: SiteContent; paths: ReadonlySet<string> }>();

  constructor(organizations: readonly Organization[], seed: number) {
    for (const { id: org, sites } of organizations) {
      for (const site of sites) {
        const content: SiteContent = { ...site, seed, revision: 0, version: null, paths: null };
        this.#sites.set(site.domain, { org, content, paths: new Set(pagePaths(site.pages)) });
      }
    }
  }

  /** The published content; null when the organization has no such site. */
  published(org: string, domain: string): SiteContent | null {
    const site = this.#sites.get(domain);
    return site?.org === org ? { ...site.content } : null;
  }

  hasPage(domain: string, path: string): boolean {
    return this.#sites.get(domain)?.paths.has(path) ?? false;
  }

  /** Publishes the given revision, or the next one; gives the revision now published. Throws for an unknown domain. */
  publish(domain: string, revision?: number): number {
    const site = this.#sites.get(domain);
    if (site === undefined) throw new Error(`there is no site ${JSON.stringify(domain.slice(0, 60))}`);
    site.content.revision = revision ?? site.content.revision + 1;
    return site.content.revision;
  }
}
