#!/usr/bin/env node
import { runDocferry } from './cli/run.ts';

const exitCode = await runDocferry(process.argv.slice(2));
// Whatever a library left open must not keep a finished command alive.
process.exit(exitCode);
