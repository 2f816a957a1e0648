import { endsWell, isDeclined } from '../../exports/rules/export-outcome.ts';
import { Foreign, sentence } from './parts.tsx';

interface Ended {
  outcome: string;
  /** Whether a person should look at it. */
  isBad: boolean;
  /** Which pass of a project. */
  pass?: string;
}

/** How a run or a pass ended. */
export function Outcome({ outcome, isBad, pass = '' }: Ended) {
  const look = isBad ? 'state bad' : endsWell(outcome) ? 'state good' : 'state';
  return <span class={look}>{`${pass === '' ? '' : `${pass} `}${outcome.replaceAll('-', ' ')}`}</span>;
}

/** Codes stand at the beginning, or behind the name of a target that a rollout did not reach: `; ` is between targets. */
const codeBefore = /^([^\s:]+:\S+: )?([A-Za-z][A-Za-z0-9-]*): /;
const decision = 'not-approved: ';

/** Why something ended or failed: first what people read, then the codes for scripts. A person's own words stay as they are. */
export function Why({ reason }: { reason: string }) {
  if (reason.startsWith(decision)) return <Foreign text={reason.slice(decision.length)} />;
  const codes = new Set<string>();
  const parts = reason.split('; ').map((part, index) =>
    part.replace(codeBefore, (all, target: string | undefined, code: string) => {
      if (index > 0 && target === undefined) return all;
      if (!isDeclined(code)) codes.add(code);
      return target ?? '';
    }),
  );
  const text = parts.join('; ');
  return (
    <>
      <bdi>{sentence(text)}</bdi>
      {codes.size > 0 && (
        <>
          {' '}
          <span class="fine">{[...codes].join(', ')}</span>
        </>
      )}
    </>
  );
}
