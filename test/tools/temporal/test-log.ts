import { createLog } from '../../../src/temporal/log.ts';

const lines: string[] = [];

/** The log of every worker of this process: the test files of a process share Temporal's runtime, which has one log. */
export const testLog = createLog({ write: (line: string) => lines.push(line) }, 'debug');

/** What the workers of this process have logged so far. */
export const logged = (): string => lines.join('');
