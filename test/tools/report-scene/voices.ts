/** A page of an invented product's documentation, and what its readers say. */
export interface DocPage {
  path: string;
  /** How often it is read, compared with the others. */
  weight: number;
  /** Share of readers it helps. */
  helps: number;
  praise: readonly string[];
  blame: readonly string[];
  agents: readonly string[];
}

export const docPages: readonly DocPage[] = [
  {
    path: '/quickstart',
    weight: 10,
    helps: 0.82,
    praise: ['Up and running before my coffee was cold. Thank you!', 'Exactly the right length.'],
    blame: ['The Docker command needs --pull always, the old image fails silently.', 'Where do I get the token from?'],
    agents: ['Step 3 assumes a project exists, but no step creates one.'],
  },
  {
    path: '/guides/migrate-to-v4',
    weight: 9,
    helps: 0.71,
    praise: ['The table of renamed options saved me an afternoon.'],
    blame: [
      'Says “rename retry to retries”, but the config loader rejects retries in 4.0.2.',
      'Half of the examples still use the v3 client. Which one is it?',
      'Please say at the top that queues have to be drained first. We lost messages.',
      'No word about the Python client.',
    ],
    agents: [
      'The code block under “Consumers” imports Consumer from @acme/queue, which v4 no longer exports.',
      'The page links to /reference/client#legacy, an anchor that does not exist.',
      'Two sections give contradicting defaults for visibilityTimeout (30 and 60 seconds).',
    ],
  },
  {
    path: '/reference/client',
    weight: 8,
    helps: 0.66,
    praise: ['Good reference, finally with types.'],
    blame: [
      'What does close() do with messages in flight?',
      'I can’t tell which options are per message and which per queue.',
    ],
    agents: [
      'receive() is documented to return null on timeout; the type says it throws TimeoutError.',
      'The parameter batchSize has no maximum in the text, while the API answers 400 above 500.',
    ],
  },
  {
    path: '/guides/dead-letter-queues',
    weight: 6,
    helps: 0.48,
    praise: ['The diagram made it click.'],
    blame: [
      'How do I put a message back into its queue? That is the only thing I came for.',
      'The console looks different now, the button in step 4 is gone.',
      'Needs an example with a filter.',
    ],
    agents: [
      'No operation is named for redriving messages; the reference calls it moveMessages.',
      'maxReceives appears as max_receives in the second example.',
    ],
  },
  {
    path: '/guides/exactly-once',
    weight: 5,
    helps: 0.57,
    praise: ['Honest about what exactly-once means. Rare!'],
    blame: [
      'Too abstract. Show me the table I need in my database.',
      'The example doesn’t compile (missing await in line 12).',
    ],
    agents: ['The SQL of the outbox table uses a type, uuidv7, that PostgreSQL 16 does not have.'],
  },
  {
    path: '/guides/authentication',
    weight: 7,
    helps: 0.74,
    praise: ['Clear, thanks.', 'Love that every example says which scope it needs.'],
    blame: ['Rotating keys: does the old one die at once? Please say.', 'OIDC with GitLab is missing.'],
    agents: ['The curl example sends the key in a query parameter; the API accepts it in the header only.'],
  },
  {
    path: '/reference/errors',
    weight: 5,
    helps: 0.41,
    praise: ['Good to have them all in one place.'],
    blame: [
      'E4017 is not in the list, and that is the one I get.',
      'A list of codes without what to do about them is of little help.',
      'Search does not find the codes.',
    ],
    agents: [
      'Error E4017 (“lease lost”) is returned by the API but absent from this page.',
      'Codes are grouped by service; there is no way to look one up by number.',
      'E2003 links to a page that answers 404.',
    ],
  },
  {
    path: '/guides/monitoring',
    weight: 4,
    helps: 0.77,
    praise: ['Dashboards to copy, great.'],
    blame: ['Metric names have changed in 4.1 (queue_depth is now queue_messages).'],
    agents: ['The Prometheus rule uses a metric that the exporter no longer emits.'],
  },
  {
    path: '/guides/kubernetes',
    weight: 5,
    helps: 0.63,
    praise: ['The Helm values are well explained.'],
    blame: [
      'Does the operator support two namespaces?',
      'Resource limits in the example are far too low, pods get killed.',
    ],
    agents: ['The manifest uses apiVersion acme.example/v1beta1, which the current operator refuses.'],
  },
  {
    path: '/concepts/ordering',
    weight: 3,
    helps: 0.86,
    praise: [
      'Best explanation of ordering keys I have read anywhere.',
      'Schön erklärt, vielen Dank – auch ohne Vorwissen verständlich.',
    ],
    blame: ['A picture would help.'],
    agents: [],
  },
  {
    path: '/concepts/visibility-timeout',
    weight: 3,
    helps: 0.79,
    praise: ['Now I get why my messages came twice.'],
    blame: ['What happens when I extend it more than 12 hours?'],
    agents: [],
  },
  {
    path: '/reference/rest/send-message',
    weight: 4,
    helps: 0.69,
    praise: ['Try-it box works well.'],
    blame: ['Largest size of a message is missing.'],
    agents: [
      'The response schema lacks messageId, which the examples return.',
      'delaySeconds is documented as a string; the API takes an integer.',
    ],
  },
  {
    path: '/reference/cli',
    weight: 3,
    helps: 0.72,
    praise: [],
    blame: ['queue tail --since does not accept 1h as shown, only seconds.'],
    agents: ['The flag --since is shown with “1h”; the CLI answers “invalid integer”.'],
  },
  {
    path: '/guides/testing-locally',
    weight: 3,
    helps: 0.8,
    praise: ['The in-memory server is a gift.'],
    blame: ['Port 9324 clashes with another emulator many people run.'],
    agents: [],
  },
  {
    path: '/billing/limits',
    weight: 2,
    helps: 0.36,
    praise: [],
    blame: ['Which of these limits can be raised, and how?', 'Requests per second per queue or per account??'],
    agents: [],
  },
  {
    path: '/guides/serverless/aws-lambda/partial-batch-responses',
    weight: 2,
    helps: 0.52,
    praise: [],
    blame: ['Please add the IAM policy. It took me two hours.'],
    agents: ['The handler returns batchItemFailures as a map; the platform expects a list.'],
  },
];

/** What readers think of blocks of code. */
export const snippetRemarks: readonly string[] = [
  'Missing import.',
  'Copying takes the $ along.',
  'Works. Could you show it with async iteration as well?',
  'This throws “queue is not defined”.',
  'Der Dateiname im Kommentar stimmt nicht mit dem Text überein.',
];
