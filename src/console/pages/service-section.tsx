import { visible } from '../../feedback/report/html.ts';
import type { StoredSite } from '../readings/site-facts.ts';
import { Facts, Foreign, When } from './parts.tsx';

/** What is in service, and at each target. */
export function InService({ stored: { current, url, hold, targets } }: { stored: StoredSite }) {
  return (
    <Facts
      facts={[
        ['version', current ?? 'nothing yet'],
        hold !== null && [
          'held',
          <>
            {`at ${hold.version} since `}
            <When at={hold.since} />
            {hold.reason !== null && (
              <>
                {': '}
                <Foreign text={hold.reason} />
              </>
            )}
          </>,
        ],
        hold !== null && hold.waiting !== null && ['published meanwhile', `${hold.waiting}, not in service`],
        ...targets.map(
          ({ name, version }) =>
            [
              visible(name),
              version === null
                ? 'nothing yet'
                : version === current
                  ? `${version}`
                  : `${version}, not what is in service`,
            ] as const,
        ),
        url !== null && [
          'bundle',
          <a id="bundle-link" href={url} rel="noreferrer">
            {url}
          </a>,
        ],
      ]}
    />
  );
}
