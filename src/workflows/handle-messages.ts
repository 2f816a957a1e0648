import {
  defaultPayloadConverter,
  type QueryDefinition,
  RawValue,
  rawValueTypeInfo,
  type SignalDefinition,
  type TypeInfo,
  type UpdateDefinition,
} from '@temporalio/common';
import { ApplicationFailure, log, setHandler } from '@temporalio/workflow';
import { Misshapen, type Reader, refuse } from '../model/message-readers.ts';

/**
 * Handlers of messages whose shape is not known: the Temporal UI and older clients send anything, and an error in a
 * handler would stop the workflow until it is terminated (X5).
 */

/**
 * Has the SDK hand over each input as it came: before the handler runs it would decode them, and one that it cannot
 * decode (cut, encrypted, of another SDK) would stop the workflow too.
 */
const undecoded = {
  inputTypes: new Proxy<TypeInfo[]>([], { get: () => rawValueTypeInfo }),
};

/** Of signals without input: whatever comes along is not looked at. */
export const noInput: Reader<undefined> = () => undefined;

interface SignalHandling<Message> {
  description: string;
  take(message: Message): void;
  /** A message that makes no sense has come, and is ignored. */
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
  update: UpdateDefinition<Answer, [Message]>,
  read: Reader<Message>,
  { description, answer, check }: UpdateHandling<Message, Answer>,
): void {
  const required = (input: unknown) => {
    const message = tryRead(read, input);
    if (message instanceof Misshapen) throw refusal(message.message);
    return message;
  };
  const validator = (input: unknown) => {
    const message = required(input);
    check?.(message);
  };
  setHandler({ ...update, typeInfo: undecoded }, (input: unknown) => answer(required(input)), {
    description,
    validator,
  });
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
