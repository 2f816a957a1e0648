import type { Retry } from '../../client/retries.ts';
import { Why } from './run-end.tsx';

/** What a run tries again and again, which otherwise looks as if it went well. */
export function Retries({ retries }: { retries: readonly Retry[] }) {
  return (
    <>
      {retries.map(({ activity, attempt, reason }) => (
        <div class="notice bad" role="status">
          <p>
            {`${activity} has failed and is tried again (attempt ${attempt}): `}
            <Why reason={reason} />
          </p>
        </div>
      ))}
    </>
  );
}
