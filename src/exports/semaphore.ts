import { availableParallelism } from 'node:os';
import { Semaphore } from '../semaphore.ts';

/** How much of what loads the machine this process does at a time; null: by the number of processors. */
interface MachineLimits {
  verifications: number | null;
  browsers: number | null;
}

/** An archive takes a thread while it is verified, a large zip two; the main thread needs a processor as well. */
const usualVerifications = () => Math.max(1, Math.floor(availableParallelism() / 2));
/** A browser takes about a processor, and hundreds of megabytes. */
const usualBrowsers = () => Math.max(1, Math.floor(availableParallelism() / 4));
/** Copies wait for disks and networks more than for processors. */
const usualCopies = () => Math.max(2, availableParallelism());

/** Archives being verified. */
export const verificationSlots = new Semaphore(usualVerifications());
/** Browsers that render pages. */
export const browserSlots = new Semaphore(usualBrowsers());
/** Archives being unpacked into place, or copied to a bucket. */
export const copySlots = new Semaphore(usualCopies());

/** Sets the limits of this process. */
export function limitMachineUse({ verifications, browsers }: MachineLimits): void {
  verificationSlots.most = verifications ?? usualVerifications();
  browserSlots.most = browsers ?? usualBrowsers();
}
