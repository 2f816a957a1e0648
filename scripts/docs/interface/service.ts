import type { Section } from './requirement.ts';

const table = 'docs/deployments > docs/deployments.md > repeats the availability table of the interface';
const wholeThread =
  'e2e/story > the whole thread on a real server > exports, verifies, publishes and rolls out a site; again only what changed';
const valuesFile =
  'e2e/helm-values > an export ends in the values file: published address, no link; again only where it is not in service (E3, E6)';

/** INTERFACE "What the service does". */
export const service: readonly Section[] = [
  {
    title: 'What the service does',
    requirements: [
      [
        'service.feedback',
        'returns page ratings, notes on code snippets and feedback of AI agents',
        'service/feedback-page > feedback entry > base variant: id, path, comment, createdAt, source %s, status',
        'service/feedback-page > feedback entry > contextual variant: helpful, contact',
        'service/feedback-page > feedback entry > code snippet variant: code, filename, lang',
        'e2e/story > the whole thread on a real server > stores every entry exactly once and keeps to 10 requests in any 10 s (B1, S1)',
      ],
      ['service.export', 'a job renders the site of a domain; the bundle comes through a presigned link', wholeThread],
      [
        'service.export.selfContained',
        'files need nothing at run time',
        'sandbox/archive > an export > holds a self-contained site whose links and resources all exist',
      ],
      [
        'service.plan',
        'static export needs the Enterprise plan',
        'activities/bundle-versions > startJob > says that the plan is missing',
        'sandbox/static-export > starting a job > needs a key, the plan and a known domain',
      ],
      [
        'service.flow',
        'start, poll until completed, generate the bundle, download before the link expires',
        wholeThread,
        'workflows/export-site > exportSite > takes a site from the job to the rollout and says what became of it',
      ],
    ],
  },
  {
    title: 'Features by kind of deployment',
    requirements: [
      ['availability.search', 'search: Cloud yes, client-hosted configurable, air-gapped no', table],
      ['availability.assistant', 'AI assistant: yes, configurable, no', table],
      ['availability.analytics', 'web analytics: yes, configurable, no', table],
      ['availability.playground', 'API playground: yes, yes, configurable', table],
      [
        'availability.bundle',
        'static export bundle: everywhere',
        table,
        'docs/deployments > docs/deployments.md > shows configurations that can be used as they stand',
        'docs/deployments > docs/deployments.md > carries a version to an isolated host by the commands it shows',
        'cli/export-roll-out > export roll-out > puts a copied version into service where neither service nor Temporal can be reached',
      ],
    ],
  },
  {
    title: 'A bundle in a self-hosted deployment',
    requirements: [
      [
        'helm.enabled',
        '`staticExport.enabled`, boolean, turns serving on',
        'rollout/helm-values-target > HelmValuesTarget > sets the three fields and keeps every other byte',
        'deploy/chart > the sample chart > renders nothing while it is switched off',
        valuesFile,
      ],
      [
        'helm.bundleUrl',
        '`staticExport.bundleUrl`, string: we put an address there that stays, not the link',
        'rollout/helm-values-target > HelmValuesTarget > never writes a link that expires',
        valuesFile,
      ],
      [
        'helm.bundleUrl.fetched',
        'fetched when the deployment starts, then served',
        'deploy/chart > the sample chart > fetches the bundle and unpacks it',
        'bundle/bundle-server > the bundle server > serves the bundle for ever, with its digest as ETag',
      ],
      [
        'helm.version',
        '`staticExport.version`, optional string, pins the version',
        'rollout/helm-values-target > HelmValuesTarget > sets the three fields and keeps every other byte',
        'rollout/edit-helm-values > values that are missing > %s',
        'deploy/chart > the sample chart > renders the published address of a values file that was rolled out to',
      ],
      [
        'helm.loop',
        'new content needs a new bundle and a new rollout; the loop may run on a schedule',
        'e2e/schedules > schedules start the work by themselves > exports: published the first time, unchanged the second, and nothing any more once removed',
        valuesFile,
      ],
    ],
  },
];
