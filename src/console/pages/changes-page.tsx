import type { ComparedVersion, FileCounts } from '../../exports/store/compare-manifests.ts';
import type { ChangedPage, DiffPart, VersionChanges } from '../../exports/verify/compare-pages.ts';
import { counted, countText, pagePath, sizeText } from '../../rules/text.ts';
import type { KnownSite } from '../readings/console-reader.ts';
import { ChangedPages, Decide } from './approval-section.tsx';
import { Page } from './layout.tsx';
import {
  Act,
  Facts,
  Foreign,
  previewAddress,
  Reason,
  Section,
  shortVersion,
  siteAddress,
  useMayAct,
  Version,
} from './parts.tsx';

interface Changes {
  site: KnownSite;
  changes: VersionChanges;
  /** The version that waits for approval; null for none. */
  waiting: string | null;
}

/** What would change if a version went into service: counts, pages, and the text of small pages. */
export function ChangesPage({ site, changes, waiting }: Changes) {
  const mayAct = useMayAct();
  const { from, to, counts, pages, texts, without } = changes;
  const address = siteAddress(site.org, site.domain);
  const isCurrent = from?.version === to.version;
  const shownTexts = new Map(texts.map(({ path }, place) => [path, place]));
  return (
    <Page title={`What ${shortVersion(to.version)} changes`}>
      <p class="under">
        <a id="to-site" href={address}>
          <Foreign text={site.domain} />
        </a>
        {' · '}
        <a id="to-preview" href={previewAddress(site, to.version, pages.changed[0])}>
          look at its pages
        </a>
        {to.version === waiting && mayAct && (
          <>
            {' · '}
            <a href="#decide-title">to the decision</a>
          </>
        )}
      </p>
      <Facts
        facts={[
          ['in service', from === null ? 'nothing yet' : <Compared version={from} />],
          [to.version === waiting ? 'waits for approval' : 'compared with it', <Compared version={to} />],
          ['pages', countsText(counts.pages)],
          ['all files', countsText(counts.files)],
        ]}
      />
      {isCurrent && <p class="notice">This version is in service: nothing would change.</p>}
      <ChangedPages
        site={site}
        version={to.version}
        changes={{ pages: counts.pages, listed: pages }}
        addressOf={(path) => (shownTexts.has(path) ? `#text-${shownTexts.get(path)}` : null)}
      />
      {counts.pages.changed > 0 && (
        <Section id="texts" title="Text that changes">
          <p class="fine">
            {without === null
              ? texts.length < counts.pages.changed
                ? `${countText(texts.length)} of ${counted(counts.pages.changed, 'changed page')}; long and very deeply nested pages, and those after the first 20, are named only.`
                : 'All changed pages.'
              : `No text is shown: ${without}.`}
          </p>
          {texts.map((page, place) => (
            <Text id={`text-${place}`} page={page} preview={previewAddress(site, to.version, page.path)} />
          ))}
        </Section>
      )}
      {!isCurrent && mayAct && (
        <Section id="decide" title={to.version === waiting ? 'Decide' : 'Put it into service'}>
          <div class="acts">
            {to.version === waiting ? (
              <Decide site={site} version={to.version} />
            ) : (
              <Act action={`${address}/rollback`} label="Put into service …" fields={{ version: to.version }}>
                <Reason id="rollback-reason" label="Why" />
              </Act>
            )}
          </div>
        </Section>
      )}
    </Page>
  );
}

function Text({ id, page: { path, parts }, preview }: { id: string; page: ChangedPage; preview: string }) {
  return (
    <article class="text" id={id}>
      <h3>
        <a href={preview}>
          <Foreign text={pagePath(path)} />
        </a>
      </h3>
      {parts.length === 0 ? (
        <p class="quiet">The text is the same; only the markup differs.</p>
      ) : (
        <ol class="diff">
          {parts.map((part) => (
            <Part part={part} />
          ))}
        </ol>
      )}
    </article>
  );
}

function Part({ part }: { part: DiffPart }) {
  if (part.kind === 'skipped') return <li class="fine">{`… ${counted(part.lines, 'line')}`}</li>;
  if (part.kind === 'unmatched') return <li class="fine">The texts differ too much for a line-by-line comparison.</li>;
  const text = <Foreign text={part.text} />;
  switch (part.kind) {
    case 'same':
      return <li dir="auto">{text}</li>;
    case 'removed':
      return (
        <li dir="auto">
          <del>
            <span class="unseen">removed: </span>
            {text}
          </del>
        </li>
      );
    case 'added':
      return (
        <li dir="auto">
          <ins>
            <span class="unseen">added: </span>
            {text}
          </ins>
        </li>
      );
  }
}

function Compared({ version: { version, pages, bytes } }: { version: ComparedVersion }) {
  return (
    <>
      <Version name={version} />
      {`: ${counted(pages, 'page')}, ${sizeText(bytes)}`}
    </>
  );
}

function countsText({ added, removed, changed, moved, unchanged }: FileCounts): string {
  return `${countText(added)} added, ${countText(removed)} removed, ${countText(changed)} changed, ${countText(moved)} moved, ${countText(unchanged)} unchanged`;
}
