import type { Section } from './requirement.ts';

const failed = 'service/client-errors > an answer that is no success';
const start = 'service/client > start static export job';
const status = 'service/client > get static export job status';
const bundle = 'service/client > generate export bundle';
const exported = 'service/client-static-export > what the interface does not show';
const download = 'bundle/download > download';
const fetchBundle = 'activities/bundle-versions > fetchBundle';
const byStatus = `${failed} > %d becomes %o with the words of the service`;
const exportErrors = `${exported} > %s says %d with or without a body that can be read`;

/** INTERFACE "Appendix". */
export const appendix: readonly Section[] = [
  {
    title: 'Appendix: how to take what was seen',
    requirements: [
      [
        'appendix.notRequired',
        'used when present, never required',
        'sandbox/static-export > export faults > sends no more than the contract names',
        `${start} > needs no more than jobId in the answer`,
        `${status} > needs no more than status in the answer`,
        `${bundle} > needs no more than bundleUrl in the answer`,
      ],
      [
        'appendix.unknown',
        'anything else is kept and ignored',
        'service/feedback-page > feedback entry > unknown fields are kept in extra as sent',
        'feedback/commit-page > the rows of a page > holds every field as sent, and the time in UTC beside it',
        `${exported} > an answer with other fields is read all the same`,
      ],
    ],
  },
  {
    title: 'Appendix: what was seen',
    requirements: [
      [
        'appendix.start.version',
        'start: optional `version`, a label',
        `${start} > sends domain alone, or with version and paths, as JSON`,
        'sandbox/archive > an export > carries the label it was asked for',
      ],
      [
        'appendix.start.paths',
        'start: optional `paths`',
        `${start} > sends domain alone, or with version and paths, as JSON`,
        'sandbox/archive > an export > keeps to the pages asked for, and the index',
        'workflows/export-site > exportSite > does not make an export of a few paths the current version, unless promoted',
      ],
      [
        'appendix.start.domain',
        '`domain` is a bare host name',
        'config/rules > values > refuses the domain %j and suggests %j',
        'sandbox/static-export > starting a job > refuses the body %j with 400',
      ],
      ['appendix.start.202', 'start: 202 with the whole job', `${start} > reads the whole job object of a 202`],
      [
        'appendix.job.status',
        '`status`: `queued`, `running`, `completed`, `failed`',
        `${status} > status %s means %s`,
        'sandbox/static-export > a job > is queued, runs with growing progress, and completes',
      ],
      [
        'appendix.job.progress',
        '`progress`: percent',
        'service/progress > readProgress > reads %j as %d percent',
        `${status} > reads progress and pageCount where it can`,
      ],
      [
        'appendix.job.pageCount',
        '`pageCount`: whole number',
        'service/progress > readPageCount > reads %j as %d pages',
      ],
      [
        'appendix.job.times',
        '`createdAt`, `updatedAt`: nothing depends on them',
        `${start} > reads the whole job object of a 202`,
        'sandbox/static-export > starting a job > answers 202 with the whole job',
      ],
      [
        'appendix.job.error',
        '`error`, string or null, of a failed job',
        `${status} > gives the error of a failed job, cut and without links or keys`,
      ],
      [
        'appendix.bundle.jobId',
        'bundle: `jobId`, which is not needed',
        `${exported} > an answer with other fields is read all the same`,
      ],
      ['appendix.bundle.bundleUrl', 'bundle: `bundleUrl`', `${bundle} > needs no more than bundleUrl in the answer`],
      ['appendix.bundle.sizeBytes', 'bundle: `sizeBytes`', `${bundle} > reads sizeBytes and expiresAt where it can`],
      ['appendix.bundle.expiresAt', 'bundle: `expiresAt`', `${bundle} > reads sizeBytes and expiresAt where it can`],
      [
        'appendix.archive.tarGz',
        'the archive is a `bundle.tar.gz`',
        'bundle/verify-archive > a sound %s > is accepted with its digest, sizes and counts',
        'sandbox/archive > an export > is the same site in every format',
      ],
      [
        'appendix.archive.content',
        'pages mirror their paths; assets and data beside them',
        'sandbox/archive > an export > holds a self-contained site whose links and resources all exist',
        'bundle/verify-archive > a sound %s > is refused without any page, unless only the structure is asked for',
      ],
      [
        'appendix.archive.sniff',
        'others send `.zip`: look at the bytes, not at the name',
        `${fetchBundle} > knows a zip by its bytes, whatever the link calls it`,
        'bundle/verify-archive > something else > is refused as %s',
      ],
      ['appendix.export.400', '400: wrong body', exportErrors],
      ['appendix.export.401', '401: wrong key', exportErrors],
      ['appendix.export.403', '403: the plan lacks static export', exportErrors],
      [
        'appendix.export.404',
        '404: no such job',
        exportErrors,
        'activities/bundle-versions > readJob > tells a vanished job from a failed request',
      ],
      ['appendix.export.409', '409: the job has not completed', exportErrors],
      ['appendix.export.body', 'body of these: `error`', exportErrors],
      ['appendix.analytics.401', 'analytics: 401', byStatus],
      [
        'appendix.analytics.429',
        'analytics: 429, with `Retry-After` in seconds or as a date, or without',
        `${failed} > 429 with %j asks to wait %j ms`,
        "model/retry-after > readRetryAfter > measures a date by the answer's own Date header, so that the service's clock may be wrong",
        'activities/feedback-pages > fetchPages > waits after a 429, for the organization, as long as the service says',
        'sandbox/rate-limit > a 429 > can come without Retry-After',
      ],
      ['appendix.analytics.gateway', '502 to 504 in HTML', `${failed} > %d from a gateway, in HTML`],
      [
        'appendix.baseAddress',
        'analytics may have another base address',
        'service/client > every operation > keeps the path of the base address, and takes analytics elsewhere when told',
        'config/rules > values > keeps a second base address for analytics',
      ],
      [
        'appendix.store.authorization',
        "the archive's host refuses requests with `Authorization`",
        `${download} > stores the object, tells its digest, and asks for no encoding and with no credentials`,
        'sandbox/storage > a presigned link > is refused together with Authorization',
      ],
      [
        'appendix.store.expired',
        'an expired link: 403 with XML',
        `${download} > asks for a new link on %i, and goes on where it was`,
        `${fetchBundle} > replaces links that end soon before it uses them, and goes on behind the bytes it has`,
      ],
      [
        'appendix.store.range',
        'it knows `Range`',
        `${download} > goes on where it was cut, twice, asking for no byte again`,
        'sandbox/storage > ranges and conditions > give the bytes asked for',
      ],
      [
        'appendix.store.etag',
        'it knows `ETag`',
        `${download} > gives the new object whole when it changed after a cut`,
        `${download} > takes a weak ETag for no proof`,
      ],
      [
        'appendix.otherEndpoints',
        'other programs draw on the same 100 requests',
        'sandbox/rate-limit > the rate limit > is 100 requests per organization and hour, shared by all projects and analytics endpoints',
        'model/sliding-window-refusals > after a 429 > waits as long as the service says, which is believed up to a minute more than a window',
        'model/sliding-window-refusals > after a 429 > sends one request before the others follow',
      ],
    ],
  },
  {
    title: 'Appendix: what the usual CI job lacks',
    requirements: [
      [
        'appendix.today.timeout',
        'gives up after ten minutes',
        'workflows/export-site > exportSite > polls seldom while a four-hour job runs, with every wait on a durable timer',
      ],
      [
        'appendix.today.retry',
        'does not try again',
        'workflows/export-site > exportSite > starts another job when one fails, vanishes or takes too long, and gives up after the configured attempts',
        `${download} > repeats after resets and 5xx`,
      ],
      [
        'appendix.today.check',
        'checks nothing',
        `${fetchBundle} > refuses a hostile archive with its reasons and leaves nothing behind`,
        'workflows/export-site > exportSite > ends with the reasons when the archive is refused, and publishes nothing',
      ],
      [
        'appendix.today.back',
        'cannot go back',
        'cli/export-roll-out > export roll-out > goes back to an older version that is in the store',
      ],
      [
        'appendix.today.link',
        'leaves a link that stops working',
        'rollout/helm-values-target > HelmValuesTarget > never writes a link that expires',
        'bundle/bundle-server > the bundle server > serves the bundle for ever, with its digest as ETag',
      ],
    ],
  },
];
