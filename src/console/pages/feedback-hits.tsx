import type { FoundEntry, SearchAnswer } from '../../feedback/search/feedback-search.ts';
import { shortened, visible } from '../../feedback/report/html.ts';
import { waitText } from '../../feedback/report/words.ts';
import { Foreign, pagePath, When } from './parts.tsx';
import { entryAddress } from './feedback-addresses.ts';
import type { FilterChoices } from './feedback-filter.tsx';
import { Marked } from './marked-text.tsx';

/** Entries that were found, the newest first. */
export function Hits({ found, choices, now }: { found: SearchAnswer; choices: FilterChoices; now: number }) {
  if (found.entries.length === 0) return null;
  const names = projectNames(choices);
  return (
    <ol class="hits">
      {found.entries.map((entry) => (
        <Hit entry={entry} project={names.get(entry.project) ?? entry.project} now={now} />
      ))}
    </ol>
  );
}

/** What people call each project, where the configuration has it. */
export function projectNames({ organizations }: FilterChoices): Map<string, string> {
  return new Map(organizations.flatMap(({ projects }) => projects.map(({ id, name }) => [id, name ?? id] as const)));
}

function Hit({ entry, project, now }: { entry: FoundEntry; project: string; now: number }) {
  const { comment, code, contact, filename, lang, document, createdAt, firstSeenAt } = entry;
  const address = entryAddress(entry.project, entry.id);
  const name = <Foreign text={shortened(pagePath(document), 200)} />;
  return (
    <li>
      <div class="about">
        <p class="page-of">{address === null ? name : <a href={address}>{name}</a>}</p>
        <p class="fine">
          <Traits entry={entry} />
        </p>
        <p class="fine">
          {`${createdAt === null ? 'without a date, seen ' : ''}${ageText(createdAt ?? firstSeenAt, now)}, `}
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
      <Foreign text={shortened(source, 60)} />
      {helpful !== null && (
        <>
          {', '}
          <span class={helpful ? 'state good' : 'state bad'}>{helpful ? 'helpful' : 'not helpful'}</span>
        </>
      )}
      {', '}
      <span class="state">
        <bdi>{visible(shortened(status, 60))}</bdi>
      </span>
    </>
  );
}

/** `3.4 days ago`. */
export function ageText(moment: string, now: number): string {
  const age = now - Date.parse(moment);
  return age < 0 ? 'in the future' : `${waitText(age)} ago`;
}
