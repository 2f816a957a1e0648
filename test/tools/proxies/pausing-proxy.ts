import { gate } from './gate.ts';
import { type NumberedProxy, numberedProxy } from './numbered-proxy.ts';

interface PausingProxy extends NumberedProxy {
  /** Settles when the delayed request has arrived; never when there is none. */
  paused: Promise<void>;
  /** Passes the delayed request on. */
  resume(): void;
}

/** Passes requests on to a server, but delays the one after the first `whole` until `resume` is called. */
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
    resume: release.open,
    async stop() {
      release.open();
      await proxy.stop();
    },
  };
}
