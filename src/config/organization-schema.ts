import { z } from 'zod';
import { mostRequests } from '../budget/rules/permits.ts';
import {
  type ChangeLimit,
  type ChangeRule,
  changeRuleTexts,
  isRenderRule,
  limitText,
  renderRuleTexts,
  ruleLevels,
  siteRuleTexts,
} from '../exports/rules/verification-rules.ts';
import { noticeTypes } from '../runs/rules/notices.ts';
import { usualEventTypes, webhookEventTypes, webhookFormats } from '../runs/rules/webhook-event.ts';
import type { ConfiguredTimes } from '../schedules/rules/desired-schedules.ts';
import { calendarsOfCron, cronProblem, spreadOf } from '../schedules/rules/schedule-settings.ts';
import {
  domain,
  duration,
  filePath,
  flag,
  InPlace,
  id,
  listOf,
  name,
  orNull,
  secret,
  share,
  size,
  text,
  wholeNumber,
} from './field-schemas.ts';
import { named, rolloutSchema } from './rollout-schema.ts';
import { FileSecret, type SecretSource, signatureKeyCheck, webhookAddressCheck } from './secrets.ts';

/** `{ every: 15m }`, or `{ cron: "0 6 * * *", timezone: Europe/Berlin }`, each with an optional `jitter`. */
const scheduleSchema = z
  .strictObject({
    every: duration({ min: '1s', max: '366d' })
      .refine((ms) => ms % 1000 === 0, 'expected whole seconds')
      .optional()
      .describe('Time between two starts. This or `cron`.'),
    cron: z
      .string()
      .superRefine((text, context) => {
        const message = cronProblem(text);
        if (message !== null) context.addIssue({ code: 'custom', message });
      })
      .meta({ title: 'cron expression', examples: ['0 6 * * *', '@daily'] })
      .optional()
      .describe(
        'Minute, hour, day of month, month, day of week; or `@hourly`, `@daily` and the like. Of two days given, either is enough.',
      ),
    timezone: z
      .string()
      .refine(isTimeZone, 'expected a time zone such as Europe/Berlin')
      .meta({ title: 'time zone', examples: ['Europe/Berlin', 'UTC'] })
      .optional()
      .describe('Time zone of `cron`. Absent: `UTC`.'),
    jitter: duration({ min: '0s', max: '1d' })
      .optional()
      .describe(
        "Delays each start by up to this time, by a hash of the schedule's name. Absent: with `cron` 10 minutes or a tenth of its period, whichever is less; starts with `every` are spread anyway.",
      ),
  })
  .refine(({ every, cron }) => (every === undefined) !== (cron === undefined), 'expected either "every" or "cron"')
  .refine(({ cron, timezone }) => cron !== undefined || timezone === undefined, '"timezone" works only with "cron"')
  .meta({
    title: 'schedule',
    oneOf: [{ required: ['every'] }, { required: ['cron'] }],
    dependentRequired: { timezone: ['cron'] },
  })
  .transform(({ every, cron, timezone, jitter }): ConfiguredTimes => {
    // Intervals are spread by their offsets already.
    if (cron === undefined) return { everyMs: every ?? 0, jitterMs: jitter ?? 0 };
    // Crons of many sites name the same minute.
    const [calendar] = calendarsOfCron(cron) ?? [];
    return { cron, timezone: timezone ?? 'UTC', jitterMs: jitter ?? (calendar ? spreadOf(calendar) : 0) };
  });

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

const budget = z
  .strictObject({
    requests: wholeNumber(1, mostRequests)
      .default(100)
      .describe(
        'Analytics requests the service allows the organization in a window. For more, shorten the window in proportion.',
      ),
    window: duration({ min: '100ms', max: '31d' }).prefault('1h').describe('Length of the sliding window.'),
    reserve: z
      .union([z.literal('auto'), wholeNumber(0, mostRequests)], 'expected a whole number from 0, or auto')
      .default(0)
      // With "auto", only the observed use of other clients is left to them.
      .transform((reserve) => (reserve === 'auto' ? 0 : reserve))
      .describe(
        'Requests of each window that docferry always leaves to other clients. It leaves them what they are seen to use in any ' +
          'case; with `auto`, only that.',
      ),
    arrival: duration({ min: '1s', max: '10m' })
      .prefault('30s')
      .describe(
        "The longest a request can take to arrive after the worker's last check; a request without an answer counts that much longer.",
      ),
  })
  .superRefine(({ requests, reserve }, context) => {
    if (reserve < requests) return;
    context.addIssue({
      code: 'custom',
      path: ['reserve'],
      message: `expected less than requests, which is ${requests}`,
    });
  })
  .transform(({ window, arrival, ...budget }) => ({
    ...budget,
    windowMs: window,
    arrivalMs: arrival,
    configuredAt: new InPlace(({ writtenAt }) => writtenAt),
  }));

const refresh = z
  .strictObject({
    every: duration({ min: '1s', max: '1h' })
      .refine((ms) => ms % 1000 === 0, 'expected whole seconds')
      .prefault('5m')
      .describe(
        'Least time between two runs that read what has gathered the most staleness. A run comes when a request is due, and at least once an hour.',
      ),
    share: share()
      .prefault('50%')
      .describe('Part of the requests that the reserve and other clients leave which these runs may use.'),
  })
  .transform(({ every, share }) => ({ everyMs: every, share }));

const freshening = {
  atMost: duration({ min: '1s', max: '366d' })
    .exactOptional()
    .describe(
      'The longest that new entries wait to be read; with `refresh`, and at least its `every`. Absent: no deadline.',
    ),
  weight: z
    .number('expected a number from 0.01 to 100')
    .min(0.01, 'expected a number from 0.01 to 100')
    .max(100, 'expected a number from 0.01 to 100')
    .meta({ title: 'number from 0.01 to 100' })
    .default(1)
    .describe("How much the staleness of this project's entries counts beside that of others."),
  freshness: duration({ min: '1s', max: '366d' })
    .prefault('1d')
    .describe(
      'How long ago the newest entries may have been read before `status` and the console call the project stale and ' +
        'docferry sends `feedback.stale`.',
    ),
};

const project = z
  .strictObject({
    id: id('a project id').describe("Identifier of the project in the service's addresses."),
    name: name()
      .exactOptional()
      .describe('A name for people, shown beside the id; commands accept it. Unique within the organization.'),
    ...freshening,
  })
  .transform(({ atMost, freshness, ...project }) => ({
    ...project,
    ...(atMost !== undefined && { atMostMs: atMost }),
    freshnessMs: freshness,
  }));

/** What `defaults.projects` may hold. */
export const projectDefaultsSchema = z.strictObject(freshening);

const texts = (what: string) => z.array(text(what), `expected a list: ${what}`).min(1, `expected ${what}`);

const entryFilter = z.strictObject({
  projects: texts('the id of a project').exactOptional().describe('Absent: all projects of the organization.'),
  sources: texts('the name of a source').exactOptional().describe('Absent: all sources.'),
  statuses: texts('the name of a status').exactOptional().describe('Absent: all statuses.'),
  helpful: flag().exactOptional().describe('Only entries that say so. Absent: all.'),
  withWords: flag().exactOptional().describe('Only entries with a comment. Absent: all.'),
});

const days = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

/** In milliseconds since Monday 0:00 UTC. */
const weekTime = z
  .string('expected a day and a time, such as Mon 9:00')
  .regex(/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun) ([01]?\d|2[0-3]):[0-5]\d$/, 'expected a day and a time, such as Mon 9:00')
  .transform((written) => {
    const [day = '', hours = '', minutes = ''] = written.split(/[ :]/);
    return ((days.indexOf(day) * 24 + Number(hours)) * 60 + Number(minutes)) * 60_000;
  })
  .meta({ title: 'day and time' });

const webhook = z
  .strictObject({
    name: id('a name').default('default').describe('Name in workflows and in the UI, unique within the organization.'),
    url: secret(
      'webhook address',
      ({ allowInsecure }) => webhookAddressCheck(allowInsecure),
      'an https:// address',
    ).describe('Address that receives the POST; treated as a secret, so it may hold a token from the environment.'),
    format: z
      .enum(webhookFormats, `expected ${webhookFormats.join(', ')}`)
      .default('standard')
      .describe('`standard` is signed JSON; `slack` and `teams` are what their incoming webhooks show as a message.'),
    secret: orNull(secret('webhook secret', () => signatureKeyCheck)).describe(
      'Key of the signature: `whsec_` and at least 24 random bytes in base64. Required with `format: standard`, and only there.',
    ),
    events: listOf(z.enum(webhookEventTypes, `expected ${webhookEventTypes.join(' or ')}`), 'events')
      .min(1, 'expected at least one event')
      .optional()
      .describe(
        'Events to send. Absent: all but `feedback.entries`; with `slack` and `teams` also without those that every run sends.',
      ),
    entries: entryFilter
      .exactOptional()
      .describe('Which entries to send with `feedback.entries`. Absent: every new or changed one.'),
    digest: orNull(weekTime).describe(
      'When to send what happened in the week before, in UTC, such as `Mon 9:00`. Absent: never.',
    ),
  })
  .superRefine(({ events, entries }, context) => {
    if (entries === undefined || events?.includes('feedback.entries')) return;
    const message = 'goes with "events: [feedback.entries]", which sends entries at all';
    context.addIssue({ code: 'custom', path: ['entries'], message });
  })
  .superRefine(({ format, secret }, context) => {
    const refuse = (message: string) => context.addIssue({ code: 'custom', path: ['secret'], message });
    if (format === 'standard' && secret === null) refuse('expected the key of the signature, whsec_…');
    if (format !== 'standard' && secret !== null) {
      refuse(`goes with "format: standard" only: ${format} takes no signature`);
    }
  })
  .transform(({ events, digest, ...webhook }) => ({
    ...webhook,
    digestMs: digest,
    events: events ?? (webhook.format === 'standard' ? usualEventTypes : noticeTypes),
  }));

const shared = {
  budget: budget
    .prefault({})
    .describe('How many analytics requests the organization may send, shared by all its projects.'),
  refresh: refresh
    .exactOptional()
    .describe(
      'Keeps the feedback of all projects fresh; `{}` for the defaults. Absent: feedback is read only on demand.',
    ),
  webhooks: listOf(webhook, 'webhooks')
    .prefault([])
    .describe('Receivers of messages about what happens and what a person must act on; see webhooks.md.'),
  watchEvery: duration({ min: '1s', max: '1d' })
    .prefault('5m')
    .describe(
      'How often docferry checks for what is late, stale, starved, held, drifted or refused, and for runs that were terminated.',
    ),
};

/** What `defaults.organizations` may hold. */
export const organizationDefaultsSchema = z.strictObject(shared);

/** An organization with such sites (contracts.md `organizations`). */
export function organizationSchema<Site extends z.ZodType>(site: Site) {
  return z
    .strictObject({
      id: id('an organization id').describe('A name of your choice; part of workflow ids, so do not change it later.'),
      apiKey: secret('API key')
        .optional()
        .describe('Admin API key, best by reference to an environment variable. This or `apiKeyFile` is required.'),
      apiKeyFile: text('the path of a file')
        .transform((written) => new InPlace<SecretSource>((place) => new FileSecret(written, place)))
        .optional()
        .describe('File that holds the admin API key, read again when it changes.'),
      ...shared,
      projects: listOf(project, 'projects').prefault([]).describe('Projects whose feedback is read.'),
      sites: listOf(site, 'sites').prefault([]).describe('Sites that are exported.'),
    })
    .refine(
      ({ apiKey, apiKeyFile }) => (apiKey === undefined) !== (apiKeyFile === undefined),
      'expected either apiKey or apiKeyFile',
    )
    .meta({ oneOf: [{ required: ['apiKey'] }, { required: ['apiKeyFile'] }] })
    .transform(({ apiKey, apiKeyFile, watchEvery, ...organization }) => ({
      ...organization,
      apiKey: (apiKey ?? apiKeyFile) as InPlace<SecretSource>,
      watchEveryMs: watchEvery,
    }));
}

const ruleLevel = z.enum(ruleLevels, 'expected refuse, ask, warn or off');

/** What to do with a site that breaks a rule, for each rule about its content (exports/rules/verification-rules.ts). */
const contentRules = { ...siteRuleTexts, ...renderRuleTexts };
const contentRuleFields = Object.fromEntries(
  Object.entries(contentRules).map(([rule, { level, refuses }]) => {
    const broken = isRenderRule(rule) ? `With \`render\`: ${refuses}` : capitalized(refuses);
    return [rule, ruleLevel.exactOptional().describe(`${broken}. Absent: \`${level}\`.`)];
  }),
) as Record<keyof typeof contentRules, z.ZodExactOptional<typeof ruleLevel>>;

/** A level, or a level with a limit. */
const limited = <Form extends z.ZodType<ChangeLimit>>(form: Form, usual: number, example: string) =>
  z.union(
    [ruleLevel.transform((level): ChangeLimit => ({ level, limit: usual })), form],
    `expected refuse, ask, warn or off, or a level with a limit such as ${example}`,
  );

const aboveShare = limited(
  z
    .strictObject({ level: ruleLevel, above: share({ orNothing: true, most: 10 }).prefault('0%') })
    .transform(({ level, above }): ChangeLimit => ({ level, limit: above })),
  0,
  '{ level: ask, above: 10% }',
);
const [{ limit: usualFewest }] = changeRuleTexts['too-few-pages'].limits;
const belowNumber = limited(
  z
    .strictObject({ level: ruleLevel, below: wholeNumber(1, 10_000_000).default(usualFewest) })
    .transform(({ level, below }): ChangeLimit => ({ level, limit: below })),
  usualFewest,
  '{ level: ask, below: 40 }',
);

const changeRuleFields = Object.fromEntries(
  Object.entries(changeRuleTexts).map(([rule, { refuses, limits }]) => {
    const usual = limits.map((limit) => `\`${limit.level}\` ${limitText(rule as ChangeRule, limit.limit)}`);
    const field = rule === 'too-few-pages' ? belowNumber : aboveShare;
    return [rule, field.exactOptional().describe(`${capitalized(refuses)}. Absent: ${usual.join(', ')}.`)];
  }),
) as Record<ChangeRule, z.ZodExactOptional<typeof aboveShare>>;

const siteRules = z.strictObject({ ...contentRuleFields, ...changeRuleFields });

function capitalized(text: string): string {
  return text.replace(/^[a-z]/, (first) => first.toUpperCase());
}

const siteFields = {
  schedule: scheduleSchema.exactOptional().describe('When to export the site. Absent: only on demand.'),
  lateAfter: duration({ min: '1s', max: '366d' })
    .optional()
    .describe(
      'docferry sends `export.late` when the last export that brought or confirmed a version is older than this. Absent: never.',
    ),
  job: z
    .strictObject({
      timeout: duration({ min: '1s', max: '31d' }).prefault('2h').describe('A job that takes longer is given up.'),
      attempts: wholeNumber(1, 100)
        .default(3)
        .describe('How many jobs docferry starts at most if they fail, vanish or take too long.'),
      startTimeout: duration({ min: '0s', max: '7d' })
        .prefault('1h')
        .describe('How long docferry repeats a start whose answer was lost; each repetition may start another job.'),
    })
    .transform(({ timeout, attempts, startTimeout }) => ({
      timeoutMs: timeout,
      attempts,
      startTimeoutMs: startTimeout,
    }))
    .prefault({})
    .describe("The service's export job."),
  bundle: z
    .strictObject({
      maxBytes: size().prefault('5GiB').describe('A site that unpacks to more is refused.'),
      maxFiles: wholeNumber(1, 10_000_000).default(200_000).describe('An archive with more files is refused.'),
      connections: wholeNumber(1, 64)
        .default(1)
        .describe('Connections a download uses; more than 1 helps if the source limits each connection.'),
      timeout: duration({ min: '1s', max: '12h' })
        .prefault('6h')
        .describe('A download that takes longer, all attempts together, is given up.'),
      rules: siteRules
        .prefault({})
        .describe('What to do with a site that breaks a rule about its content; see verification.md.'),
      render: orNull(
        z.strictObject({
          pages: wholeNumber(1, 1_000).describe('How many pages docferry opens.'),
          // A browser is never looked up in the PATH: a name without a folder is a file beside the configuration.
          browser: orNull(filePath('the path of a program')).describe(
            'Program of Chromium, Chrome or Edge. Absent: the one found on the machine.',
          ),
          sandbox: flag()
            .default(true)
            .describe("Whether the browser uses its own sandbox; `false` where it can't, as in most containers."),
        }),
      ).describe(
        'Opens sampled pages in a browser without network before a version is published. Absent: no page is opened.',
      ),
    })
    .transform(({ timeout, ...bundle }) => ({ ...bundle, timeoutMs: timeout }))
    .prefault({})
    .describe('Limits of the archive, and rules for its content.'),
  approval: z
    .enum(['none', 'manual'], 'expected none or manual')
    .default('none')
    .describe(
      'Whether a person approves every version before it goes into service, or only those for which a rule asks: `docferry export approve`.',
    ),
  approvalTimeout: duration({ min: '1s', max: '31d' })
    .optional()
    .describe('How long a version waits for a person; then it counts as rejected. Absent: `7d`.'),
  rollout: listOf(rolloutSchema, 'targets')
    .prefault([])
    .transform(named)
    .describe("Where a published version goes, in this order; `{domain}` in a target stands for the site's domain."),
};

const oneDomain = domain().describe('Bare host name of the site: no scheme, no port, no path. This or `domains`.');

/** A site to export (contracts.md `sites`). */
export const siteSchema = z
  .strictObject({ domain: oneDomain, ...siteFields })
  .transform(({ lateAfter, approval, approvalTimeout, ...site }) => ({
    ...site,
    ...(lateAfter !== undefined && { lateAfterMs: lateAfter }),
    approval: { always: approval === 'manual', timeoutMs: approvalTimeout ?? usualApprovalMs },
  }));

/** A week: the person who decides may be away for a few days. */
const usualApprovalMs = 7 * 86_400_000;

/** An entry of `sites` as it is written: for one site or for several. */
export const siteEntrySchema = z
  .strictObject({
    domain: oneDomain.optional(),
    domains: listOf(domain(), 'host names')
      .min(1, 'expected at least one host name')
      .optional()
      .describe(
        'Several sites with the same settings; write `{domain}` in the paths of their targets to keep them apart.',
      ),
    ...siteFields,
  })
  .meta({ oneOf: [{ required: ['domain'] }, { required: ['domains'] }] });

/** What `defaults.sites` may hold. */
export const siteDefaultsSchema = z.strictObject(siteFields);
