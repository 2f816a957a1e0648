import {
  defaultPayloadConverter,
  type QueryDefinition,
  RawValue,
  rawValueTypeInfo,
  type SignalDefinition,
  type TypeInfo,
  type UpdateDefinition,
} from '@temporalio/common';
import { ApplicationFailure, currentUpdateInfo, log, setHandler, workflowInfo } from '@temporalio/workflow';
import { type Deed, readSender, type Sender, unnamedSender } from '../runs/rules/audit.ts';
import { Misshapen, type Reader, refuse } from '../rules/messages.ts';

/**
 * Handlers of messages whose shape is not known: the Temporal UI and older clients may send anything, and an error in a
 * handler would stop the workflow until an operator terminates it (X5).
 */

/**
 * Has the SDK hand over each input as it came: before the handler runs it would decode them, and one that it cannot
 * decode (cut, encrypted, of another SDK) would stop the workflow too.
 */
export const undecoded = {
  inputTypes: new Proxy<TypeInfo[]>([], { get: () => rawValueTypeInfo }),
};

/** Of messages without input: whatever comes along is not looked at. */
export const noInput: Reader<undefined> = () => undefined;

interface SignalHandling<Message> {
  description: string;
  take(message: Message): void;
  /** A malformed message arrived, and is ignored. */
  ignored?(): void;
}

export function onSignal<Message>(
  signal: SignalDefinition<[Message]> | SignalDefinition<[]>,
  read: Reader<Message>,
  { description, take, ignored }: SignalHandling<Message>,
): void {
  const handler = (input: unknown) => {
    const message = tryRead(read, input);
    if (!(message instanceof Misshapen)) return take(message);
    log.warn('a signal that makes no sense is ignored', { signal: signal.name, problem: message.message });
    ignored?.();
  };
  setHandler({ ...signal, typeInfo: undecoded }, handler, { description });
}

interface UpdateHandling<Message, Answer> {
  description: string;
  answer(message: Message): Answer;
  /** Throws to refuse a message of the right shape. */
  check?(message: Message): void;
}

/** The validator refuses a wrong shape and names the field, so that nothing of it enters the history. */
export function onUpdate<Message, Answer>(
  update: UpdateDefinition<Answer, [Message]> | UpdateDefinition<Answer>,
  read: Reader<Message>,
  { description, answer, check }: UpdateHandling<Message, Answer>,
): void {
  const validator = (input: unknown) => {
    const message = required(read, input);
    check?.(message);
  };
  const definition = { ...(update as UpdateDefinition<Answer, [Message]>), typeInfo: undecoded };
  setHandler(definition, (input: unknown) => answer(required(read, input)), { description, validator });
}

/** What the audit says of a message: who sent it, when and why. */
export type Sent = Pick<Deed, 'deedId' | 'at' | 'who' | 'reason' | 'workflowId'>;

interface DeedHandling<Message, Answer> {
  description: string;
  answer(message: Message, sent: Sent): Answer;
  /** Throws to refuse a message of the right shape. */
  check?(message: Message): void;
}

/** Like `onUpdate`, for what a person does: the second input, which other clients may leave out, says who and why. */
export function onDeed<Message, Answer>(
  update: UpdateDefinition<Answer, [Message, Sender?]>,
  read: Reader<Message>,
  { description, answer, check }: DeedHandling<Message, Answer>,
): void {
  const validator = (input: unknown, sender?: unknown) => {
    const message = required(read, input);
    required(readSender, sender);
    check?.(message);
  };
  setHandler(
    { ...update, typeInfo: undecoded },
    (input: unknown, sender?: unknown) => answer(required(read, input), sentNow(required(readSender, sender))),
    { description, validator },
  );
}

/** An update's id is unique within a run. */
function sentNow({ who = unnamedSender, reason = null }: Sender): Sent {
  const { workflowId, runId } = workflowInfo();
  const deedId = `${runId}/${currentUpdateInfo()?.id}`;
  return { deedId, at: new Date().toISOString(), who, reason, workflowId };
}

/** A query is answered whatever its input: the reader makes the best of it. */
export function onQuery<Input, Answer>(
  query: QueryDefinition<Answer, [Input?]> | QueryDefinition<Answer>,
  answer: (input: unknown) => Answer,
  description: string,
): void {
  const handler = (input: unknown) => {
    const message = tryRead((value) => value, input);
    return answer(message instanceof Misshapen ? undefined : message);
  };
  setHandler({ ...query, typeInfo: undecoded }, handler, { description });
}

/** Refuses a message, or an input, with words for the sender. */
export function refusal(problem: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(problem, 'InvalidInput');
}

/** Throws to refuse what makes no sense. */
export function required<Message>(read: Reader<Message>, input: unknown): Message {
  const message = tryRead(read, input);
  if (message instanceof Misshapen) throw refusal(message.message);
  return message;
}

function tryRead<Message>(read: Reader<Message>, input: unknown): Message | Misshapen {
  try {
    return read(input instanceof RawValue ? decoded(input) : input);
  } catch (error) {
    if (error instanceof Misshapen) return error;
    throw error;
  }
}

function decoded({ payload }: RawValue): unknown {
  try {
    return defaultPayloadConverter.fromPayload(payload);
  } catch {
    // What the library says may quote the input.
    return refuse('', 'an input that can be decoded');
  }
}
