import {
  booleanField,
  choiceField,
  countField,
  durationField,
  type Fields,
  shareField,
  sizeField,
  textField,
  type ValuesOf,
} from './field.ts';
import { pick, type Random } from './random.ts';

/** Faults on demand. A count means "the next n", a rate is a share of requests, 0 is off. */
export const faultFields = {
  errors: countField('errors', 0, 'the next n analytics requests answer 500'),
  errorRate: shareField('error-rate', 0, 'share of analytics requests answered 500'),
  gatewayErrors: countField('gateway-errors', 0, 'the next n analytics requests answer 502, 503 or 504 with HTML'),
  gatewayRate: shareField('gateway-rate', 0, 'share of analytics requests answered 502, 503 or 504 with HTML'),
  resets: countField('resets', 0, 'the next n analytics requests are reset before they count'),
  resetRate: shareField('reset-rate', 0, 'share of analytics requests reset before they count'),
  resetsAfter: countField('resets-after', 0, 'the next n analytics requests count and are then reset'),
  resetAfterRate: shareField('reset-after-rate', 0, 'share of analytics requests that count and are then reset'),
  slowMs: durationField('slow', 0, 'wait before each analytics answer'),
  slowBody: durationField('slow-body', 0, 'time over which the body of each feedback page is sent'),
  cutBody: countField('cut-body', 0, 'the next n feedback pages break off half-way'),
  badJson: countField('bad-json', 0, 'the next n feedback pages are malformed JSON with status 200'),
  loopCursor: countField('loop-cursor', 0, 'cursors repeat from this page on'),
  loopLength: countField('loop-length', 1, '1: the same cursor again and again; 2: A, B, A, B (from page 3 on)', {
    min: 1,
    max: 2,
  }),
  nullCursor: countField('null-cursor', 0, 'this page says hasMore with a null nextCursor'),
  emptyPage: countField('empty-page', 0, 'this page is empty although more follow'),
  emptyAnswers: countField('empty-answers', 0, 'the next n feedback pages are empty and say that nothing follows'),
  pageLimit: countField('page-limit', 0, 'most entries of a feedback page, even if a request asks for more'),
  ignoreStatus: booleanField('ignore-status', 'the status filter is ignored'),
  ignoreDates: booleanField('ignore-dates', 'dateFrom and dateTo are ignored'),
  unordered: booleanField('unordered', 'entries of each feedback page come in no order'),
  churnAdded: countField('churn-added', 0, 'entries added before each feedback page after the first'),
  churnDeleted: countField('churn-deleted', 0, 'entries deleted before each feedback page after the first'),
  force429: countField('force-429', 0, 'the next n analytics requests answer 429'),
  force429WaitMs: durationField('force-429-wait', 1_000, 'wait that such a 429 asks for'),
  retryAfter: choiceField('retry-after', ['seconds', 'date', 'none'], 'form of Retry-After on a 429'),
  unauthorized: booleanField('unauthorized', 'all keys are refused'),

  failJobs: countField('fail-jobs', 0, 'the next n jobs end as failed'),
  vanishJobs: countField('vanish-jobs', 0, 'the next n jobs answer 404 half-way'),
  stuckJobs: countField('stuck-jobs', 0, 'the next n jobs never end'),
  jobStartResets: countField('job-start-resets', 0, 'the next n started jobs exist, but the answer is a reset'),
  startErrors: countField('start-errors', 0, 'the next n starts answer 503, without a job'),
  exportErrors: countField('export-errors', 0, 'the next n status and bundle requests answer 503'),
  progressShape: choiceField(
    'progress-shape',
    ['number', 'percent-text', 'fraction', 'object', 'absent'],
    'how progress is written',
  ),
  statusWords: booleanField('status-words', 'running jobs have the statuses waiting and rendering'),
  missingFields: booleanField('missing-fields', 'export answers hold only what the contract names'),
  archiveFile: textField('archive-file', '', 'serve this file as the bundle'),

  linkLifetimeMs: durationField('link-lifetime', 300_000, 'lifetime of a presigned link'),
  storageResetEvery: sizeField('storage-reset-every', 0, 'reset each download after this many bytes'),
  storageCut: countField('storage-cut', 0, 'the next n downloads end half-way as if complete'),
  storageStall: countField('storage-stall', 0, 'the next n downloads fall silent half-way and stay open'),
  storageIgnoreRange: booleanField('storage-ignore-range', 'answer ranges with 200 and everything'),
  storageErrors: countField('storage-errors', 0, 'the next n downloads answer 503'),
  replaceObjectAfter: sizeField('replace-object-after', 0, 'once: reset after this many bytes and replace the object'),
  storageRedirect: textField('storage-redirect', '', 'answer downloads with a redirect to this address'),
};

export type Faults = ValuesOf<typeof faultFields>;

type NamesOf<Value> = { [Name in keyof Faults]: Faults[Name] extends Value ? Name : never }[keyof Faults];

/** The faults in force, changed at run time. Counts run down as they strike. */
export class FaultBox {
  readonly #values: Faults;
  readonly #random: Random;

  constructor(initial: Faults, random: Random) {
    this.#values = { ...initial };
    this.#random = random;
  }

  /** Live view: counts show what is left. */
  get values(): Readonly<Faults> {
    return this.#values;
  }

  /** Sets the named faults at once, or none of them: throws an Error naming the first that is unknown or unacceptable. */
  set(changes: Readonly<Record<string, unknown>>): void {
    const table: Fields = faultFields;
    for (const [name, value] of Object.entries(changes)) {
      const field = Object.hasOwn(table, name) ? table[name] : undefined;
      if (field === undefined) throw new Error(`there is no fault ${JSON.stringify(name.slice(0, 60))}`);
      if (!field.accepts(value)) throw new Error(`fault ${name} must be ${field.expected}`);
    }
    Object.assign(this.#values, changes);
  }

  /** Uses up one of "the next n". */
  take(count: NamesOf<number>): boolean {
    if (this.#values[count] < 1) return false;
    this.#values[count] -= 1;
    return true;
  }

  /** A whole number from 0 to below `count`. */
  below(count: number): number {
    return Math.floor(this.#random() * count);
  }

  /** One of several ways to fail. */
  choose<Item>(items: readonly [Item, ...Item[]]): Item {
    return pick(this.#random, items);
  }

  /** Uses up one of "the next n", or else throws the dice for the rate. */
  strikes(count: NamesOf<number>, rate: NamesOf<number>): boolean {
    return this.take(count) || (this.#values[rate] > 0 && this.#random() < this.#values[rate]);
  }
}
