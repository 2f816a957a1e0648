import type { Section } from './requirement.ts';

const start = 'service/client > start static export job';
const status = 'service/client > get static export job status';
const bundle = 'service/client > generate export bundle';
const operations =
  'service/client > every operation > sends the bearer key, accepts JSON and names itself; one request each';
const idInPath = 'service/client > every operation > encodes the id %j into its one path segment';
const exportSite = 'workflows/export-site > exportSite';
const silent = 'service/client-static-export > what the interface does not show';

/** INTERFACE "Static export job" and endpoints 2 to 4. */
export const staticExport: readonly Section[] = [
  {
    title: 'Static export job',
    requirements: [
      [
        'job.jobId',
        '`jobId`, string, from the start',
        `${start} > needs no more than jobId in the answer`,
        `${start} > is malformed without a readable jobId: %j`,
      ],
      [
        'job.status',
        '`status`, string',
        `${status} > needs no more than status in the answer`,
        `${status} > is malformed without a readable status: %j`,
      ],
      ['job.progress', '`progress`, while the job runs', `${status} > reads progress and pageCount where it can`],
      ['job.pageCount', '`pageCount`, while the job runs', `${status} > reads progress and pageCount where it can`],
      [
        'job.bundleUrl',
        '`bundleUrl`, string: a presigned link to the archive',
        `${bundle} > needs no more than bundleUrl in the answer`,
        `${bundle} > is malformed without an http(s) bundleUrl, and does not quote it: %j`,
        'e2e/secrets > nothing secret or personal stands in histories, search attributes, memos, logs or errors (X1) > when everything goes well, and when links expire, downloads are cut and pages are broken',
      ],
      [
        'job.progress.shape',
        'not shown: types and units of `progress` and `pageCount`',
        'service/progress > readProgress > reads the same percentage from every shape',
        'service/progress > readProgress > does not guess at %j',
        'service/progress > readPageCount > does not guess at %j',
        'model/cadence > nextPollDelay > follows the elapsed time while no progress can be read',
      ],
      [
        'job.otherFields',
        'not shown: other fields of a job',
        `${silent} > an answer with other fields is read all the same`,
      ],
      [
        'job.completed',
        '`completed`: the bundle may be generated',
        `${status} > status %s means %s`,
        `${exportSite} > takes a site from the job to the rollout and says what became of it`,
      ],
      [
        'job.failed',
        '`failed`: the job did not finish',
        `${status} > status %s means %s`,
        `${exportSite} > starts another job when one fails, vanishes or takes too long, and gives up after the configured attempts`,
      ],
      [
        'job.live',
        '`progress` and `pageCount` change while the job runs',
        'sandbox/static-export > a job > is queued, runs with growing progress, and completes',
        'cli/steps > a step of an export > shows phase, percent, pages and the next poll',
      ],
      [
        'job.statuses',
        'not shown: all values of `status`; unknown ones count as running',
        `${status} > status %s means %s`,
        'sandbox/static-export > export faults > uses words for states that nobody knows',
      ],
    ],
  },
  {
    title: 'Endpoints in general',
    requirements: [
      [
        'paths.relative',
        'paths are relative to the base address',
        'service/client > every operation > keeps the path of the base address, and takes analytics elsewhere when told',
      ],
      [
        'bodies.json',
        'bodies are JSON',
        operations,
        `${start} > sends domain alone, or with version and paths, as JSON`,
        'service/feedback-page > feedback response > is malformed when it is no JSON: %j',
      ],
    ],
  },
  {
    title: 'Start static export job',
    requirements: [
      ['jobs.start', '`POST /v1/static-export/jobs`', operations],
      [
        'jobs.start.contentType',
        '`Content-Type: application/json`',
        `${start} > sends domain alone, or with version and paths, as JSON`,
        'sandbox/static-export > starting a job > needs JSON and the header that says so',
      ],
      [
        'jobs.start.domain',
        '`domain`, string',
        `${start} > sends domain alone, or with version and paths, as JSON`,
        'sandbox/static-export > starting a job > refuses the body %j with 400',
      ],
      ['jobs.start.response', 'answers `jobId`', `${start} > needs no more than jobId in the answer`],
      [
        'jobs.start.asynchronous',
        'the job is queued and runs by itself',
        'sandbox/static-export > a job > is queued, runs with growing progress, and completes',
        `${exportSite} > polls seldom while a four-hour job runs, with every wait on a durable timer`,
      ],
    ],
  },
  {
    title: 'Get static export job status',
    requirements: [
      ['jobs.get', '`GET /v1/static-export/jobs/{jobId}`', operations],
      ['jobs.get.jobId', '`jobId`, string, in the path', idInPath],
      [
        'jobs.get.body',
        'no request body',
        'service/client-static-export > get static export job status > sends no body',
      ],
      [
        'jobs.get.response',
        'answers `status`, with `progress` and `pageCount` while the job runs',
        `${status} > needs no more than status in the answer`,
        `${status} > reads progress and pageCount where it can`,
      ],
      [
        'jobs.get.poll',
        'poll until `completed`',
        `${exportSite} > polls seldom while a four-hour job runs, with every wait on a durable timer`,
      ],
    ],
  },
  {
    title: 'Generate export bundle',
    requirements: [
      ['jobs.bundle', '`POST /v1/static-export/jobs/{jobId}/bundle`', operations],
      ['jobs.bundle.jobId', '`jobId`, string, in the path', idInPath],
      ['jobs.bundle.body', 'no request body', `${bundle} > sends no body and no content type`],
      ['jobs.bundle.response', 'answers `bundleUrl`', `${bundle} > needs no more than bundleUrl in the answer`],
      [
        'jobs.bundle.archive',
        'the link leads to one archive',
        'activities/bundle-versions > fetchBundle > downloads and verifies, and keeps what it found beside the staged file',
      ],
      [
        'jobs.bundle.afterCompletion',
        'called after the job has completed',
        `${exportSite} > takes a site from the job to the rollout and says what became of it`,
        'sandbox/static-export > a bundle > is refused with 409 until the job has completed',
      ],
      [
        'jobs.bundle.expires',
        'the link expires',
        'activities/bundle-versions > fetchBundle > replaces links that end soon before it uses them, and goes on behind the bytes it has',
      ],
      [
        'jobs.otherFields',
        'not shown: other fields of requests and responses',
        `${start} > sends domain alone, or with version and paths, as JSON`,
        `${silent} > an answer with other fields is read all the same`,
        'sandbox/static-export > export faults > sends no more than the contract names',
      ],
      ['jobs.statusCodes', 'not shown: status codes', `${silent} > %s succeeds with any of 200, 201 and 202`],
    ],
  },
];
