import type { Hono } from 'hono';
import type { Deed } from '../../runs/rules/audit.ts';
import type { ConsoleApp, ConsoleEnv } from '../app-context.ts';
import { AuditPage } from '../pages/audit-page.tsx';
import { projectAddress, siteAddress } from '../pages/parts.tsx';
import { auditQuery } from '../readings/audit-query.ts';
import { failurePage, page, viewerIn } from './answers.tsx';

/** The audit, which everybody who is signed in may read. */
export function addAuditRoute(hono: Hono<ConsoleEnv>, app: ConsoleApp): void {
  const { reader } = app;
  const organizations = reader.setting.organizations.map(({ id }) => id);
  const addressOf = ({ org, subject }: Deed): string | null => {
    if (org === null || subject === null) return null;
    if (reader.knownSite(org, subject) !== null) return siteAddress(org, subject);
    return reader.knownProject(org, subject) === null ? null : projectAddress(org, subject);
  };
  hono.get('/audit', async (c) => {
    try {
      const query = auditQuery(new URL(c.req.url).searchParams);
      const { value: facts, at, late } = await reader.audit(query).get();
      const shown = { viewer: viewerIn(c, app), query, organizations, facts, addressOf, at, late };
      return page(c, <AuditPage {...shown} />);
    } catch (error) {
      return failurePage(c, app, error, '/audit');
    }
  });
}
