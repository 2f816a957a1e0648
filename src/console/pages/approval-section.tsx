import type { Child } from 'hono/jsx';
import { type AwaitedApproval, changesText, reasonText } from '../../exports/rules/site-export.ts';
import { counted, countText, pagePath } from '../../rules/text.ts';
import type { KnownSite } from '../readings/console-reader.ts';
import {
  Act,
  changesAddress,
  Foreign,
  Health,
  Linked,
  previewAddress,
  Reason,
  Section,
  siteAddress,
  useMayAct,
  Version,
  When,
} from './parts.tsx';

/** Paths under a line that opens and closes them; nothing for none. */
function PathList({
  id,
  title,
  paths,
  all,
  addressOf,
  folded,
}: {
  id: string;
  title: string;
  paths: string[];
  all: number;
  /** Where more is said of a path; null for nowhere. */
  addressOf: (path: string) => string | null;
  /** Starts closed. */
  folded: boolean;
}) {
  if (all === 0) return null;
  return (
    <details id={id} open={!folded && paths.length <= 20}>
      <summary>{title}</summary>
      <ul>
        {paths.map((path) => (
          <li>
            <code>
              <Linked to={addressOf(path)} name={pagePath(path)} />
            </code>
          </li>
        ))}
        {all > paths.length && <li class="quiet">{`and ${countText(all - paths.length)} more`}</li>}
      </ul>
    </details>
  );
}

const kinds = ['added', 'removed', 'changed', 'moved'] as const;

/** The version that waits for approval: the decision first, then its changes. */
export function Approval({ site, approval }: { site: KnownSite; approval: AwaitedApproval }) {
  const { version, since, expiresAt, asks, changes } = approval;
  return (
    <Section id="approval" title="Waits for approval" look="decision">
      <div class="acts">
        <p>
          <Version name={version} /> came <When at={since} />; without a decision it counts as rejected{' '}
          <When at={expiresAt} />.
        </p>
        <p>{changesText(changes)}</p>
        {asks.map((reason) => (
          <p>
            <Health look="wait" text="because" />
            <Foreign text={reasonText(reason)} />
          </p>
        ))}
        <Decide site={site} version={version}>
          <a id="preview-link" class="button" href={previewAddress(site, version, changes.listed.changed[0])}>
            Look at its pages
          </a>
          <a id="changes-link" class="button" href={changesAddress(site, version)}>
            See what changes in the text
          </a>
        </Decide>
        <ChangedPages site={site} version={version} changes={changes} folded />
      </div>
    </Section>
  );
}

/** The pages that a version changes, which lead to their previews, or to what else `addressOf` knows of them. */
export function ChangedPages({
  site,
  version,
  changes: { pages, listed },
  folded = false,
  addressOf = () => null,
}: {
  site: KnownSite;
  version: string;
  changes: Pick<AwaitedApproval['changes'], 'pages' | 'listed'>;
  folded?: boolean;
  addressOf?: (path: string) => string | null;
}) {
  const previewOf = (kind: (typeof kinds)[number], path: string) =>
    kind === 'removed' ? null : previewAddress(site, version, path);
  return (
    <div class="changes">
      {kinds.map((kind) => (
        <PathList
          id={`pages-${kind}`}
          title={`${counted(pages[kind], 'page')} ${kind}`}
          paths={listed[kind]}
          all={pages[kind]}
          addressOf={(path) => addressOf(path) ?? previewOf(kind, path)}
          folded={folded}
        />
      ))}
    </div>
  );
}

/** Approves or rejects the version that waits; `children` stand between the two. */
export function Decide({ site, version, children }: { site: KnownSite; version: string; children?: Child }) {
  const address = siteAddress(site.org, site.domain);
  return (
    <>
      <div class="row">
        <Act action={`${address}/approve`} label="Approve" fields={{ version }} first />
        {children}
        <Act action={`${address}/reject`} label="Reject …" fields={{ version }}>
          <Reason id="reject-reason" label="Why it is rejected" needed />
        </Act>
      </div>
      {useMayAct() && (
        <p class="fine">
          Approving puts this version into service at once, unless the site is held. Rejecting removes it for good.
        </p>
      )}
    </>
  );
}
