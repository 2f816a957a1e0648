import { createInterface } from 'node:readline';
import { operationFailure, usageFailure } from '../cli-failure.ts';

/** Where a person is asked. */
interface Terminal {
  input: NodeJS.ReadableStream & { isTTY?: boolean };
  output: NodeJS.WritableStream;
}

/** The question about what will happen, and what a no means. */
interface Question {
  text: string;
  declined: string;
}

/**
 * Returns once a person has said yes, with `--yes` at once. Throws a usage failure where no person can be asked, and the
 * failure `Declined` after any other answer, Ctrl-C and the end of the input included.
 */
export async function confirm(
  { text, declined }: Question,
  yes: boolean,
  { input, output }: Terminal = { input: process.stdin, output: process.stderr },
): Promise<void> {
  if (yes) return;
  if (input.isTTY !== true) throw usageFailure('this needs --yes: there is no terminal to ask on');
  if (!(await answersYes(text, { input, output }))) throw operationFailure('Declined', declined);
}

function answersYes(question: string, { input, output }: Terminal): Promise<boolean> {
  const lines = createInterface({ input, output });
  return new Promise((resolve) => {
    lines.once('close', () => resolve(false));
    lines.question(`${question} [y/N] `, (answer) => {
      resolve(/^y(es)?$/i.test(answer.trim()));
      lines.close();
    });
  });
}
