import type { Section } from './requirement.ts';

const failed = 'service/client-errors > an answer that is no success';
const exported = 'service/client-static-export > what the interface does not show';
const allOperations =
  'service/client > every operation > sends the bearer key, accepts JSON and names itself; one request each';

/** INTERFACE "Authentication", "Events", "Errors", "Limits", "Versioning". */
export const rules: readonly Section[] = [
  {
    title: 'Authentication',
    requirements: [
      ['auth.bearer', 'every operation: `Authorization: Bearer <key>`', allOperations],
      [
        'auth.prefix',
        'the key has a prefix of the vendor: none is demanded',
        'service/client > every operation > asks for the key each time, so that it may change',
        'service/client > every operation > never sends the impossible key %j, and does not quote it',
      ],
      [
        'auth.secret',
        'the key is a secret',
        `${failed} > never carries key, link, cursor, request or headers, however it is printed`,
        'config/secrets > API keys > come from %s and never show, however the configuration is printed',
        'e2e/secrets > nothing secret or personal stands in histories, search attributes, memos, logs or errors (X1) > when the key is refused and when a page cannot be read',
      ],
      [
        'auth.dashboard',
        'keys are made in the dashboard: docferry takes them from the environment or a file',
        'config/secrets > API keys > come from %s and never show, however the configuration is printed',
        'config/secrets > API keys > come from a file, trimmed, read again when it changes',
      ],
    ],
  },
  {
    title: 'Events',
    requirements: [
      [
        'events',
        'not shown: completion is seen by polling',
        'workflows/export-site > exportSite > polls seldom while a four-hour job runs, with every wait on a durable timer',
        'workflows/export-site > exportSite > polls at once when asked, and refuses when no poll is due',
      ],
    ],
  },
  {
    title: 'Errors',
    requirements: [
      [
        'errors.feedback.400',
        '400: query parameters that cannot be',
        `${failed} > 400 carries details[].message`,
        'sandbox/feedback > validation > refuses %s with 400 and a detail',
      ],
      [
        'errors.feedback.500',
        '500: trouble at the service',
        `${failed} > %d becomes %o with the words of the service`,
        'activities/feedback-pages > fetchPages > tries a failed page once more with a permit of its own, and leaves longer trouble to Temporal',
      ],
      [
        'errors.export',
        'not shown: error responses of static export',
        `${exported} > %s says %d with or without a body that can be read`,
        'activities/bundle-versions > startJob > tells what may have arrived from what did not: %s',
      ],
      [
        'errors.credential',
        'not shown: the answer to a missing or wrong key',
        `${failed} > %d becomes %o with the words of the service`,
        'activities/feedback-pages > fetchPages > waits for the organization when the key is refused (401), after one request',
        'e2e/refused-key > a refused key (401) > stops the runs of the organization in one clear state, and lets them go on when it works',
      ],
    ],
  },
  {
    title: 'Limits',
    requirements: [
      [
        'limits.rate',
        '100 requests an organization and hour',
        'model/sliding-window.property > whatever askers, workers, operators and messages do > never lets more requests arrive in any window than the limit under which the last was granted (B1)',
        'workflows/rate-budget > rateBudget on the real server > never grants more than the limit to many askers at once',
        "config/load > loadConfig > reads DESIGN's file",
        'config/load > loadConfig > fills in the same defaults when they are left out',
      ],
      [
        'limits.rate.shared',
        'shared by all analytics endpoints',
        'sandbox/rate-limit > the rate limit > is 100 requests per organization and hour, shared by all projects and analytics endpoints',
        'model/sliding-window-settings > changed settings > leave the reserve to others, and a request to us whatever the reserve',
      ],
      [
        'limits.pageSize',
        '`limit` 1 to 100, 50 unless sent',
        'service/client > get user feedback > never asks for limit %d',
        'activities/feedback-pages > fetchPages > uses one lease and gives back what it does not need',
        'sandbox/feedback > pages > hold 50 entries unless told otherwise',
      ],
      [
        'limits.link',
        'not shown: how long the link lives',
        'bundle/download > download > asks for a new link on %i, and goes on where it was',
        'service/client > generate export bundle > needs no more than bundleUrl in the answer',
      ],
      [
        'limits.export',
        'not shown: rate limits of static export',
        'activities/bundle-versions > startJob > waits as long as a 429 says and is tried again',
      ],
    ],
  },
  {
    title: 'Versioning',
    requirements: [
      ['versioning.path', 'every path begins with `/v1`', allOperations],
      [
        'versioning.description',
        'the description of analytics has version 1.0.0: what is added to it is kept or ignored',
        'service/feedback-page > feedback entry > unknown fields are kept in extra as sent',
      ],
      [
        'versioning.policy',
        'not shown: an operation that is gone is an error, new values are kept',
        `${exported} > %s says %d with or without a body that can be read`,
        'service/feedback-page > feedback entry > an unknown source is kept, with the fields of any variant',
        'service/feedback-page > feedback entry > status %s is kept',
      ],
    ],
  },
];
