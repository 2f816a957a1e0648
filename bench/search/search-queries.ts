import type { SearchQuery } from '../../src/feedback/search/feedback-search.ts';
import { commonWord, rareWord } from './search-corpus.ts';

/** One of the searches that are measured. */
export interface AskedFor {
  name: string;
  query: SearchQuery;
  /** Instead of entries. */
  shown?: 'documents' | 'trend';
  /** Patterns that a text must match all of; null where `LIKE` cannot say it. */
  like: readonly string[] | null;
}

const limit = 50;

/** What people may look for, from a word that hardly occurs to one in most comments, alone and with filters. */
export function mixedQueries(): AskedFor[] {
  const [first, tenth, hundredth, thousandth] = [1, 10, 100, 1_000].map(commonWord) as [string, string, string, string];
  const words = (name: string, text: string, like: readonly string[] | null = text.split(' ')): AskedFor => ({
    name,
    query: { words: text, limit },
    like,
  });
  const document = { document: '/docs/section-7/page-40' };
  const since = '2026-08-01T00:00:00Z';
  return [
    words('rare word', rareWord),
    words('word that does not occur', 'zyxwvut'),
    words('word of rank 1,000', thousandth),
    words('word of rank 100', hundredth),
    words('word of rank 10', tenth),
    words('most common word', first),
    words('common and rare word', `${first} ${rareWord}`),
    words('two common words', `${first} ${tenth}`),
    words('three words', `${first} ${tenth} ${hundredth}`),
    words('phrase of common words', `"${first} ${tenth}"`, [`${first} ${tenth}`]),
    words('phrase of rarer words', `"${hundredth} ${thousandth}"`, [`${hundredth} ${thousandth}`]),
    words('beginning of a word', `${thousandth.slice(0, 4)}*`, [thousandth.slice(0, 4)]),
    words('code: name_of(…)', `${first}_${tenth}`, [`${first}_${tenth}`]),
    words('Japanese, 2 characters', '検索'),
    words('Japanese, 1 character', '例'),
    words('Chinese, 4 characters', '身份验证'),
    { ...words('common word, status pending', first), query: { words: first, statuses: ['pending'], limit } },
    { ...words('common word, one project', first), query: { words: first, projects: ['prj_3'], limit } },
    {
      ...words('common word, one document', first, null),
      query: { words: first, ...document, limit },
    },
    {
      ...words('common word, dates', first, null),
      query: { words: first, since, until: '2026-09-01T00:00:00Z', limit },
    },
    {
      ...words('common word, the oldest month', first, null),
      query: { words: first, until: '2024-03-20T00:00:00Z', limit },
    },
    {
      ...words('common word, new since a visit', first, null),
      query: { words: first, firstSeenAfter: '2026-11-18T00:00:00Z', limit },
    },
    { name: 'no words, status pending', query: { statuses: ['pending'], limit }, like: null },
    { name: 'no words at all', query: { limit }, like: null },
    { name: 'common word, by document', query: { words: first, limit }, shown: 'documents', like: null },
    { name: 'twelve weeks of one document', query: { ...document, limit }, shown: 'trend', like: null },
    { name: 'twelve weeks of everything', query: { limit }, shown: 'trend', like: null },
    { name: 'rare word, by document', query: { words: rareWord, limit }, shown: 'documents', like: null },
  ];
}
