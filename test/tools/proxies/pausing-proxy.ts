import { gate } from './gate.ts';
import { type NumberedProxy, numberedProxy } from './numbered-proxy.ts';

export interface PausingProxy extends NumberedProxy {
  /** Settles when the request that is kept back has come; never when there is none. */
  paused: Promise<void>;
  /** Passes on what is kept back. */
  goOn(): void;
}

/** Passes requests on to a server, but keeps the one that follows the first `whole` back until it is told. */
export async function pausingProxy(target: string, whole: number): Promise<PausingProxy> {
  const pause = gate();
  const release = gate();
  const proxy = await numberedProxy(target, {
    async sends(number) {
      if (number === whole + 1) {
        pause.open();
        await release.opened;
      }
      return true;
    },
  });
  return {
    ...proxy,
    paused: pause.opened,
    goOn: release.open,
    async stop() {
      release.open();
      await proxy.stop();
    },
  };
}
