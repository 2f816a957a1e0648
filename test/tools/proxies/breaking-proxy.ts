import { type NumberedProxy, numberedProxy } from './numbered-proxy.ts';

export interface BreakingProxy extends NumberedProxy {
  /** Requests that came so far. */
  requests(): number;
}

/**
 * Passes the first `whole` requests on to a server and none after that. The one that follows is either not passed on,
 * or passed on with its answer lost: what a process that dies cannot tell apart. `onBreak` is called at that moment.
 */
export async function breakingProxy(
  target: string,
  whole: number,
  next: 'not sent' | 'answer lost',
  onBreak: () => void = () => {},
): Promise<BreakingProxy> {
  let seen = 0;
  const proxy = await numberedProxy(target, {
    sends: (number) => {
      seen = number;
      return number <= whole + (next === 'answer lost' ? 1 : 0);
    },
    answers: (number) => number <= whole,
    onCut: onBreak,
  });
  return { ...proxy, requests: () => seen };
}
