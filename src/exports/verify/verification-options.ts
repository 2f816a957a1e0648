import type { ArchiveLimits } from '../archive/check-entry.ts';
import type { SiteRuleLevels } from '../rules/site-rules.ts';

export interface VerificationProgress {
  files: number;
  /** Unpacked so far. */
  bytes: number;
}

export interface VerificationOptions {
  limits: ArchiveLimits;
  /** Leaves out the rules about site content (contracts.md `export verify`). */
  structureOnly?: boolean;
  /** What becomes of a site that breaks a rule about its content, where it differs from the rule's default. */
  siteRules?: SiteRuleLevels;
  /** Bare host name of the site, lower case, where it is known. */
  domain?: string | null;
  /** Longest time for the whole archive; running out of it is the reason `time-limit`. */
  timeLimitMs?: number;
  signal?: AbortSignal;
  /** Called a few times a second at most. */
  onProgress?: (progress: VerificationProgress) => void;
}
