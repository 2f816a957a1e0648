import type { SignalDefinition, UpdateDefinition } from '@temporalio/common';
import { ApplicationFailure, log, setHandler } from '@temporalio/workflow';
import { Misshapen, type Reader } from '../model/message-readers.ts';

/**
 * Handlers of messages whose shape is not known: the Temporal UI and older clients send anything, and an error in a
 * handler would stop the workflow until it is terminated (X5).
 */

interface SignalHandling<Message> {
  description: string;
  take(message: Message): void;
  /** A message that makes no sense has come, and is ignored. */
  ignored?(): void;
}

export function onSignal<Message>(
  signal: SignalDefinition<[Message]>,
  read: Reader<Message>,
  { description, take, ignored }: SignalHandling<Message>,
): void {
  const handler = (input: unknown) => {
    const message = tryRead(read, input);
    if (!(message instanceof Misshapen)) return take(message);
    log.warn('a signal that makes no sense is ignored', { signal: signal.name, problem: message.message });
    ignored?.();
  };
  setHandler(signal, handler, { description });
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
  setHandler(update, (input: unknown) => answer(required(input)), { description, validator });
}

/** Refuses a message, or an input, with words for the sender. */
export function refusal(problem: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(problem, 'InvalidInput');
}

function tryRead<Message>(read: Reader<Message>, input: unknown): Message | Misshapen {
  try {
    return read(input);
  } catch (error) {
    if (error instanceof Misshapen) return error;
    throw error;
  }
}
