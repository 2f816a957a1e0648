import { type Retry, triedAgain } from '../../temporal/retries.ts';
import { Why } from './run-end.tsx';

/** What a run tries again and again, which otherwise looks as if it went well. */
export function Retries({ retries }: { retries: readonly Retry[] }) {
  return (
    <>
      {retries.map((retry) => (
        <div class="notice bad" role="status">
          <p>
            {`${retry.activity} has failed and is ${triedAgain(retry)}: `}
            <Why reason={retry.reason} />
          </p>
        </div>
      ))}
    </>
  );
}
