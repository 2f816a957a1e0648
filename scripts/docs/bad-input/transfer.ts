import type { BadCase } from './bad-case.ts';

const download = 'bundle/download > download';
const checkLink = 'bundle/link-policy > checkLink';
const checkAddress = 'bundle/link-policy > checkAddress > refuses %s';
const wire = 'bundle/download > the link policy, over the wire > refuses %s (%s) before a request is sent';
const range = `${download} > does not believe a 206 of another object, range or length, and takes a 200 as the whole`;
const again = `${download} > repeats after resets and 5xx`;
const secrets =
  'e2e/secrets > nothing secret or personal stands in histories, search attributes, memos, logs or errors (X1) > when everything goes well, and when links expire, downloads are cut and pages are broken';

/** The way of the archive over HTTP (H). */
export const transfer: readonly BadCase[] = [
  {
    id: 'H1',
    title: 'Links that lead elsewhere',
    inputs: [
      [
        '`file:`, `data:`, `ftp:`, credentials in the address',
        `${checkLink} > refuses %s without repeating its secrets`,
      ],
      ['http where https is wanted', `${checkLink} > takes plain http only when told so`],
      [
        'redirects: to http, to private addresses, without end',
        'bundle/download > the link policy, over the wire > checks every redirect',
        `${download} > follows at most three redirects`,
      ],
      ['private, loopback, link-local, metadata addresses', checkAddress],
      ['addresses as decimal, hexadecimal, IPv4 in IPv6; names that lead there (DNS rebinding, CNAME)', wire],
    ],
  },
  {
    id: 'H2',
    title: 'Keys that travel',
    inputs: [
      [
        'key, cookies, headers to the storage host',
        `${download} > stores the object, tells its digest, and asks for no encoding and with no credentials`,
      ],
    ],
  },
  {
    id: 'H3',
    title: 'Answers that are not what they say',
    inputs: [
      ['`Content-Encoding`', `${download} > refuses %s at once`],
      ['wrong length, cut body', `${download} > goes on where it was cut, twice, asking for no byte again`],
      ['200 in place of 206, 206 with another range, ETag or total', range],
      ['416 or a whole file when complete', `${download} > proves a complete file still current with its last byte`],
      ['silence', `${download} > goes on after silence`],
      ['endless body', `${download} > stops at the size limit, announced or not`],
      ['5xx, resets', again],
      ['expired or forbidden', `${download} > asks for a new link on %i, and goes on where it was`],
      ['object changed after a cut', `${download} > gives the new object whole when it changed after a cut`],
    ],
  },
  {
    id: 'H4',
    title: 'The link escapes',
    inputs: [
      ['logs, errors, histories, search attributes', secrets],
      ['values of Helm', 'rollout/helm-values-target > HelmValuesTarget > never writes a link that expires'],
    ],
  },
];
