import type { BadCase } from './bad-case.ts';

const kill = 'chaos/kill-publishing > kill -9 between every two steps of publishing (S1)';
const full = 'chaos/disk-full > a full disk (S2)';
const shared = `bundle/bundle-store > the bundle store: \${backend.kind}`;
const s3 = 'bundle/s3-store > S3BundleStore';

/** Stores and targets (S). */
export const stores: readonly BadCase[] = [
  {
    id: 'S1',
    title: 'Killed between any two steps',
    inputs: [
      ['folder store and folder target', `${kill} > to a folder, and to a folder target`],
      [
        'bucket',
        `${kill} > to a bucket > before each change of the file system`,
        `${kill} > to a bucket > at each request: %s`,
        'bundle/s3-interrupted > an export to a bucket that ends at any request (S1) > readers see the old or the new version whole, and a repetition ends well: request %s',
      ],
    ],
  },
  {
    id: 'S2',
    title: 'Full disk',
    inputs: [
      ['under the store and its stage', `${full} > under the store and its stage`],
      ['under the folder target', `${full} > under the folder target`],
      ['`/dev/full`, quota and file size limits', 'bundle/store-errors > what a person must mend (S2) > %s'],
    ],
  },
  {
    id: 'S3',
    title: 'Two writers',
    inputs: [
      ['the same version', `${shared} > lets one of many publishers of the same name win, whole (S3)`],
      [
        'different versions, as processes',
        'chaos/two-publishers > two publishers at once: $kind > never take the pointer backwards, nor mix their versions',
      ],
      [
        'a pointer that moved meanwhile',
        `${shared} > moves the pointer by compare-and-swap (S3)`,
        `${shared} > lets exactly one of many racing movers win (S3)`,
      ],
    ],
  },
  {
    id: 'S4',
    title: 'A place that is not as it should be',
    inputs: [
      [
        'a link or folder where the target wants its own',
        'rollout/directory-target > DirectoryTarget > refuses to replace anything but a link (S4)',
      ],
      [
        'read-only, other owner',
        'bundle/directory-store > DirectoryBundleStore > says which folder it cannot write to',
        'rollout/directory-target > DirectoryTarget > says which folder it cannot write to',
      ],
      [
        'parts on other file systems (EXDEV)',
        'chaos/disk-full > parts on other file systems (S4) > of the store are refused',
      ],
    ],
  },
  {
    id: 'S5',
    title: 'What the dead leave',
    inputs: [
      [
        'orphaned uploads',
        `${s3} > gives up uploads that dead processes left, but not the young ones and none of others (S5)`,
        `${s3} > leaves no parts and nothing visible when an upload is cancelled or the file is not the one verified (S5)`,
      ],
      ['stages', `${shared} > retention > sweeps up downloads that nobody will publish any more, and no others (S5)`],
      [
        'a name that is taken by the same or by other content',
        `${shared} > publishes the same content twice as once, and never changes a version`,
      ],
    ],
  },
  {
    id: 'S6',
    title: 'Tampered objects',
    inputs: [
      [
        'named by `store verify`',
        `bundle/audit-store > auditStore: \${backend.kind} > names what is partial and what is tampered, and why (S6)`,
      ],
      [
        'never lent, never listed',
        `${s3} > goes on where a download broke off, and never lends what is not the archive (S6)`,
        `${shared} > lists whole versions only, newest first (S6)`,
      ],
    ],
  },
  {
    id: 'S7',
    title: 'Retention racing a rollout',
    inputs: [
      [
        'a version that is about to be used',
        `${shared} > retention > never takes a version from a rollout or a promotion that has begun (S7)`,
      ],
    ],
  },
];

const found =
  'bundle/site/site-rules > each rule about the content of a site (C1) > %s is found, and is a warning or a reason as configured';

/** Content of a site (C). */
export const sites: readonly BadCase[] = [
  {
    id: 'C1',
    title: 'What is in the files',
    inputs: [
      [
        'pages that need the network: scripts, styles, images, fonts, imports, `base`, meta refresh, service workers',
        found,
      ],
      [
        'what a browser would load or follow, and nothing less',
        'bundle/site/html-references > beside parse5 > misses nothing that a browser would load or follow',
      ],
      ['percent-encoded names, mixed case', 'bundle/site/site-links > where an address leads > %s on a page in "%s"'],
      [
        'no index page',
        'bundle/verify-archive > a sound %s > is refused without an index page at the root, and told what to do when all lies below one folder',
      ],
      [
        'secrets and source maps packed by mistake',
        found,
        'bundle/site/site-rules > what is said of a site > never holds the secret, and lists ten findings of a rule',
      ],
      [
        'pages made to keep their reader busy, megabytes of them',
        'bundle/site/hostile-pages > pages made to keep their reader busy > %s',
      ],
    ],
  },
];
