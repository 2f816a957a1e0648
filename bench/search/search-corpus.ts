import { createRandom, type Random } from '../../sandbox/random.ts';
import { knownSources, knownStatuses } from '../../src/feedback/rules/feedback-entry.ts';
import type { FeedbackTable } from '../../src/feedback/store/tables.ts';

const vocabulary = 40_000;
const days = 1_000;
const dayMs = 86_400_000;
export const newest = Date.parse('2026-11-20T00:00:00Z');
const syllables =
  'ba be bo da de do fa fi ga go ka ki la le lo ma mi mo na ne no pa pe ra ri ro sa se so ta te to'.split(' ');
const japanese =
  'ページが見つかりません。設定の例が欲しいです。検索結果の表示が遅い。認証の手順を説明してください。'.split('。');
const chinese = '找不到页面。文档的示例很有帮助。搜索结果不正确。请说明如何配置身份验证。'.split('。');
/** Stands in one entry of a thousand. */
export const rareWord = 'webhook';

/**
 * Entries like those of readers: votes without a word, comments whose words are as unevenly common as in a language, some
 * Chinese and Japanese, some code.
 */
export function* searchCorpus(entries: number, seed = 1): Generator<FeedbackTable, void, undefined> {
  const random = createRandom(seed);
  for (let n = 0; n < entries; n += 1) {
    const at = new Date(newest - Math.floor(random() * days * dayMs)).toISOString();
    const kind = random();
    yield {
      org_id: `org_${n % 4}`,
      project_id: `prj_${n % 20}`,
      id: `fb_${String(Math.floor(random() * 1e9)).padStart(9, '0')}_${n}`,
      path: `/docs/section-${Math.floor(random() * 40)}/page-${Math.floor(random() ** 2 * 50)}`,
      comment: kind < 0.7 ? comment(random) : null,
      created_at: at,
      created_at_utc: at,
      source: pick(random, knownSources),
      status: random() < 0.03 ? 'pending' : pick(random, knownStatuses.slice(2)),
      helpful: kind > 0.5 ? Number(random() < 0.6) : null,
      contact: null,
      code: kind < 0.1 ? code(random) : null,
      filename: null,
      lang: null,
      extra: null,
      first_seen_at: new Date(Date.parse(at) + 600_000).toISOString(),
      last_seen_at: '2026-11-21T00:00:00.000Z',
      deleted_at: null,
    };
  }
}

function pick<Item>(random: Random, items: readonly Item[]): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error('there is nothing to pick');
  return item;
}

function comment(random: Random): string {
  const kind = random();
  if (kind < 0.05) return `${pick(random, japanese)}。${pick(random, japanese)}。`;
  if (kind < 0.1) return `${pick(random, chinese)}。`;
  const words = Array.from({ length: 4 + Math.floor(random() * 30) }, () => wordOf(random));
  if (random() < 0.001) words.push(rareWord);
  return `${words.join(' ')}.`;
}

function code(random: Random): string {
  const name = `${wordOf(random)}_${wordOf(random)}`;
  return `const ${name} = await client.${wordOf(random)}({ ${wordOf(random)}: process.env['${name}'] });`;
}

/** The word of rank r is about r times rarer than the first: `commonWord(1)` stands in most comments. */
function wordOf(random: Random): string {
  return commonWord(Math.floor(vocabulary ** random()));
}

export function commonWord(rank: number): string {
  let text = '';
  for (let left = rank * 7 + 11; left > 0; left = Math.floor(left / syllables.length)) {
    text += syllables[left % syllables.length] ?? '';
  }
  return text;
}
