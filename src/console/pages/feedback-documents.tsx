import type { DocumentAnswer } from '../../feedback/search/feedback-search.ts';
import { counted, countText } from '../../rules/quantities.ts';
import { shortened, visible } from '../../feedback/report/html.ts';
import type { FeedbackQuery } from '../readings/feedback-query.ts';
import { Foreign, pagePath, When } from './parts.tsx';
import { documentAddress } from './feedback-addresses.ts';
import type { FilterChoices } from './feedback-filter.tsx';
import { projectNames } from './feedback-hits.tsx';

interface Documents {
  query: FeedbackQuery;
  found: DocumentAnswer;
  choices: FilterChoices;
}

/** The hits by document, documents with the most hits first. */
export function DocumentTable({ query, found: { documents, total, more }, choices }: Documents) {
  if (documents.length === 0) return null;
  const names = projectNames(choices);
  const several = names.size > 1;
  return (
    <>
      {!total.isExact && <p class="fine">{`Only the newest ${countText(total.count)} are counted.`}</p>}
      <div class="scroll">
        <table class="cards">
          <caption class="unseen">Pages</caption>
          <thead>
            <tr>
              <th scope="col">page</th>
              {several && <th scope="col">project</th>}
              <th scope="col">entries</th>
              <th scope="col">helpful</th>
              <th scope="col">not helpful</th>
              <th scope="col">latest</th>
            </tr>
          </thead>
          <tbody>
            {documents.map(({ project, document, entries, helpful, latest }) => (
              <tr>
                <th scope="row">
                  <DocumentLink query={{ ...query, project }} document={document} />
                </th>
                {several && (
                  <td data-name="project">
                    <Foreign text={names.get(project) ?? project} />
                  </td>
                )}
                <td data-name="entries">{countText(entries)}</td>
                <td data-name="helpful">{countText(helpful.yes)}</td>
                <td data-name="not helpful">
                  <Complaints query={{ ...query, project }} document={document} count={helpful.no} />
                </td>
                <td data-name="latest">
                  <When at={latest} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {more > 0 && (
        <p class="fine">{`${counted(more, 'page')} with fewer entries not shown: filters narrow the search.`}</p>
      )}
    </>
  );
}

/** How many votes against a document, with the way to them. */
function Complaints({ query, document, count }: { query: FeedbackQuery; document: string; count: number }) {
  const text = countText(count);
  const address = count === 0 ? null : documentAddress({ ...query, helpful: 'no' }, document);
  if (address === null) return text;
  return (
    <a href={address} aria-label={`${text} not helpful: ${visible(shortened(pagePath(document), 200))}`}>
      {text}
    </a>
  );
}

function DocumentLink({ query, document }: { query: FeedbackQuery; document: string }) {
  const address = documentAddress(query, document);
  const name = <Foreign text={shortened(pagePath(document), 200)} />;
  return address === null ? name : <a href={address}>{name}</a>;
}
