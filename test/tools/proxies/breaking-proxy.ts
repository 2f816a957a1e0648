import { type NumberedProxy, numberedProxy } from './numbered-proxy.ts';

interface BreakingProxy extends NumberedProxy {
  /** Requests received so far. */
  requests(): number;
}

/**
 * Passes the first `whole` requests on to a server. The next one is either dropped, or passed on and its answer lost: a
 * dying process cannot tell these apart. `onBreak` is called at that moment, and no request is passed on afterwards.
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
