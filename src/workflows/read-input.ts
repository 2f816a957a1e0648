import { RawValue } from '@temporalio/common';
import type { Reader } from '../rules/messages.ts';
import { required, undecoded } from './handle-messages.ts';

/** Static options of a workflow that reads its input itself, with `readInput`. */
export const readsInput = { staticOptions: { typeInfo: undecoded } };

/**
 * The input of a workflow with `readsInput`. People start workflows in the Temporal UI, and other programs anything: an
 * input of another shape, or one that cannot be decoded, would fail the first task for ever; now the run fails (X5).
 */
export const readInput = <Input>(read: Reader<Input>, input: unknown): Input => required(read, input);

/** The input of the run that continues one with `readsInput`. */
export const nextInput = <Input>(input: Input): Input => new RawValue(input) as Input;
