import type { Child } from 'hono/jsx';
import { shortened } from '../../feedback/report/figure.ts';
import { countText, pagePath } from '../../rules/text.ts';
import type { ShownEntry } from '../readings/feedback-readings.ts';
import { documentAddress, type FilterChoices } from './feedback-filter.tsx';
import { projectNames, readable, Traits } from './feedback-hits.tsx';
import { Page } from './layout.tsx';
import { Facts, Foreign, Linked, projectAddress, Section, Table, useLook, When } from './parts.tsx';

/**
 * Where the page of an entry can be opened: its own address, or its path on the one site of its organization. Null when that
 * is not known, or would not lead to a page: what readers and agents leave may be any text.
 */
export function documentLink(path: string, domains: readonly string[]): string | null {
  if (/^[a-z][a-z0-9+.-]*:/i.test(path)) return pageAddress(path);
  const [domain, ...others] = domains;
  if (domain === undefined || others.length > 0) return null;
  // `//elsewhere.example` and `/\elsewhere.example` would name another host.
  const address = pageAddress(`https://${domain}/${path.replace(/^[\s/\\]+/, '')}`);
  return address !== null && new URL(address).hostname === domain.toLowerCase() ? address : null;
}

const longest = 2_000;

function pageAddress(text: string): string | null {
  if (text.length > longest || !URL.canParse(text)) return null;
  const { protocol, username, password, href } = new URL(text);
  const isPage = (protocol === 'https:' || protocol === 'http:') && username === '' && password === '';
  return isPage ? href : null;
}

/** One entry whole, with what happened to it. */
export function EntryPage({ entry, choices }: { entry: ShownEntry; choices: FilterChoices }) {
  const { org, project, document, createdAt, createdAtAsSent, lastSeenAt } = entry;
  const { filename, lang, contact, comment, code, leftOut } = entry;
  const organization = choices.organizations.find(({ id }) => id === org);
  const name = projectNames(choices).get(project);
  const allOfIt = documentAddress({ all: 'yes', ...(name !== undefined && { project }) }, document);
  const foreign = (label: string, text: string | null) =>
    text !== null && text !== '' && ([label, <Foreign text={shortened(text, 1_000)} />] as const);
  return (
    <Page title={shortened(pagePath(document), 120)} at="/feedback">
      <p class="under">
        <Traits entry={entry} />
      </p>
      <div class="split">
        <Section id="said" title="What was said">
          <div class="texts">
            {comment !== null && (
              <blockquote class="said" dir="auto">
                {readable(comment)}
                <LeftOut characters={leftOut.comment} />
              </blockquote>
            )}
            {code !== null && (
              <pre class="code" dir="ltr">
                <code>
                  {readable(code)}
                  <LeftOut characters={leftOut.code} />
                </code>
              </pre>
            )}
            {comment === null && code === null && <p class="quiet">No words.</p>}
          </div>
        </Section>
        <Section id="about" title="About it">
          <Facts
            facts={[
              ['page', <PageLink path={entry.path} domains={organization?.domains ?? []} />],
              allOfIt !== null && ['about it', <a href={allOfIt}>all feedback on this page</a>],
              [
                'project',
                <Linked to={name === undefined ? null : projectAddress(org, project)} name={name ?? project} />,
              ],
              foreign('file', filename),
              foreign('language', lang),
              foreign('from', contact),
              ['created', createdAt === null ? 'without a date' : <When at={createdAt} />],
              createdAt === null && foreign('date as sent', createdAtAsSent),
              ['last seen', <When at={lastSeenAt} />],
              foreign('id', entry.id),
            ]}
          />
          {!useLook().viewer?.seesContacts && (
            <p class="fine">Only the people whom console.contacts in docferry.yaml names see who wrote it.</p>
          )}
        </Section>
      </div>
      <Section id="history" title="History">
        {entry.hasEarlierChanges && <p class="quiet">{`Of the changes, the latest ${entry.changes.length}:`}</p>}
        <Table
          caption="What happened to it"
          look="history"
          rows={momentsOf(entry)}
          columns={[
            ['seen', ({ at }) => <When at={at} />],
            ['', ({ what }) => what, 'what'],
          ]}
        />
      </Section>
    </Page>
  );
}

/** What happened to an entry, and when docferry saw it. */
function momentsOf({ firstSeenAt, changes, deletedAt }: ShownEntry): { at: string; what: Child }[] {
  const isTold = deletedAt === null || changes.some(({ new: now }) => now === deletedAt);
  return [
    { at: firstSeenAt, what: 'first seen' },
    ...changes.map(({ field, old, new: now, seenAt }) => ({
      at: seenAt,
      what: <ChangeText field={field} old={old} now={now} />,
    })),
    ...(isTold ? [] : [{ at: deletedAt, what: 'deleted at the service' }]),
  ];
}

function ChangeText({ field, old, now }: { field: string; old: string | null; now: string | null }) {
  if (field === 'deleted_at') return <>{now === null ? 'at the service again' : 'deleted at the service'}</>;
  return (
    <>
      <Foreign text={field} />
      {': '}
      <Foreign text={shortened(old ?? 'none', 200)} />
      {' → '}
      <Foreign text={shortened(now ?? 'none', 200)} />
    </>
  );
}

function PageLink({ path, domains }: { path: string; domains: readonly string[] }) {
  const link = documentLink(path, domains);
  const text = <Foreign text={shortened(pagePath(path), 1_000)} />;
  if (link === null) return text;
  return (
    <>
      <a href={link} rel="noreferrer noopener">
        {text}
      </a>
      <div class="fine">{`on ${new URL(link).host}`}</div>
    </>
  );
}

function LeftOut({ characters }: { characters: number }) {
  if (characters === 0) return null;
  return <span class="quiet">{` … and ${countText(characters)} more characters, which a file of the search has`}</span>;
}
