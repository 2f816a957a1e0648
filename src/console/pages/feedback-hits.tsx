import { nameText, shortened, visible } from '../../feedback/report/figure.ts';
import type { FoundEntry, FoundText, SearchAnswer } from '../../feedback/search/feedback-search.ts';
import { pagePath } from '../../rules/text.ts';
import { entryAddress, type FilterChoices } from './feedback-filter.tsx';
import { Foreign, Linked, When } from './parts.tsx';

/**
 * What a reader has written, for a page: lines stay, and so do the joiners that emoji and some scripts need; what cannot be
 * seen or could turn the text around becomes U+FFFD.
 */
export function readable(text: string): string {
  return text.replaceAll(/[^\P{Cc}\t\n\r]|[\u202A-\u202E\u2066-\u2069\p{Cs}]/gu, '\uFFFD');
}

/** Part of a text, with the words found marked. */
function Marked({ found }: { found: FoundText }) {
  const { text, from, length, marks } = found;
  const ends = [0, ...marks.flat(), text.length];
  return (
    <>
      {from > 0 && <span class="quiet">… </span>}
      {ends.slice(0, -1).map((start, index) => {
        const piece = readable(text.slice(start, ends[index + 1]));
        return index % 2 === 1 ? <mark>{piece}</mark> : piece;
      })}
      {from + text.length < length && <span class="quiet"> …</span>}
    </>
  );
}

/** Entries that were found, the newest first. */
export function Hits({ found, choices }: { found: SearchAnswer; choices: FilterChoices }) {
  if (found.entries.length === 0) return null;
  const names = projectNames(choices);
  return (
    <ol class="hits">
      {found.entries.map((entry) => (
        <Hit entry={entry} project={names.get(entry.project) ?? entry.project} />
      ))}
    </ol>
  );
}

/** What people call each project, where the configuration has it. */
export function projectNames({ organizations }: FilterChoices): Map<string, string> {
  return new Map(organizations.flatMap(({ projects }) => projects.map(({ id, name }) => [id, name ?? id] as const)));
}

function Hit({ entry, project }: { entry: FoundEntry; project: string }) {
  const { comment, code, contact, filename, lang, document, createdAt, firstSeenAt } = entry;
  return (
    <li>
      <div class="about">
        <p class="page-of">
          <Linked to={entryAddress(entry.project, entry.id)} name={shortened(pagePath(document), 200)} />
        </p>
        <p class="fine">
          <Traits entry={entry} />
        </p>
        <p class="fine">
          {createdAt === null && 'without a date, seen '}
          <When at={createdAt ?? firstSeenAt} />
        </p>
        <p class="fine">
          <Foreign text={project} />
        </p>
        {contact !== null && (
          <p class="fine">
            from <Foreign text={shortened(contact, 300)} />
          </p>
        )}
      </div>
      <div class="texts">
        {comment !== null && (
          <blockquote class="said" dir="auto">
            <Marked found={comment} />
          </blockquote>
        )}
        {code !== null && (
          <figure>
            {(filename ?? lang) !== null && (
              <figcaption class="fine">
                <Foreign text={shortened([filename, lang].filter((name) => name !== null).join(', '), 200)} />
              </figcaption>
            )}
            <pre class="code" dir="ltr">
              <code>
                <Marked found={code} />
              </code>
            </pre>
          </figure>
        )}
        {comment === null && code === null && <p class="quiet">No words.</p>}
      </div>
    </li>
  );
}

/** Source, vote and status. */
export function Traits({
  entry: { source, status, helpful },
}: {
  entry: Pick<FoundEntry, 'source' | 'status' | 'helpful'>;
}) {
  return (
    <>
      <Foreign text={shortened(nameText(source), 60)} />
      {helpful !== null && (
        <>
          {', '}
          <span class={helpful ? 'state good' : 'state bad'}>{helpful ? 'helpful' : 'not helpful'}</span>
        </>
      )}
      {', '}
      <span class="state">
        <bdi>{visible(shortened(nameText(status), 60))}</bdi>
      </span>
    </>
  );
}
