import type { BudgetClient } from '../../budget/client.ts';
import type { WindowView } from '../../budget/rules/permits.ts';
import { spanText } from '../../rules/text.ts';
import { ConsoleFailure } from '../console-failure.ts';
import type { ConsoleReader } from '../readings/console-reader.ts';
import type { Action } from './action.ts';

/** What can be done with the budget of an organization. */
export const budgetActions: Readonly<Record<string, Action<string>>> = {
  pause: {
    label: 'Pause',
    question: (org, form) =>
      `No pass of ${org} asks the service anything ${form.get('for') === 'open' ? 'until a person resumes the budget' : `for ${spanText(timeIn(form) ?? 0)}, or until a person resumes the budget`}. Nothing is lost: passes wait.`,
    async run(reader, org, { form, login }) {
      await change(reader, (budgets) => budgets.pause(org, { forMs: timeIn(form) }, { who: login }));
      return `The budget of ${org} is paused.`;
    },
  },
  resume: {
    label: 'Resume',
    question: null,
    async run(reader, org, { login }) {
      await change(reader, (budgets) => budgets.pause(org, null, { who: login }));
      return `The budget of ${org} is resumed.`;
    },
  },
  set: {
    label: 'Override',
    question: null,
    async run(reader, org, { form, login }) {
      const limits = { ...countIn(form, 'requests'), ...countIn(form, 'reserve') };
      if (Object.keys(limits).length === 0) {
        throw new ConsoleFailure('InvalidInput', 'nothing was given', 'give requests, a reserve or both');
      }
      await change(reader, (budgets) => budgets.override(org, { ...limits, forMs: timeIn(form) }, { who: login }));
      return `The limits of ${org} are overridden.`;
    },
  },
  reset: {
    label: 'End the override',
    question: null,
    async run(reader, org, { login }) {
      await change(reader, (budgets) => budgets.override(org, null, { who: login }));
      return `The limits of ${org} are as configured.`;
    },
  },
};

/** For how long, by the choices of the form, in milliseconds; null for until it is ended. */
const times: Readonly<Record<string, number | null>> = {
  '15m': 900_000,
  '1h': 3_600_000,
  '8h': 28_800_000,
  '1d': 86_400_000,
  open: null,
};

function timeIn(form: URLSearchParams): number | null {
  const asked = form.get('for') ?? 'open';
  const time = Object.hasOwn(times, asked) ? times[asked] : undefined;
  if (time === undefined) throw new ConsoleFailure('InvalidInput', 'there is no such time to choose');
  return time;
}

function countIn(form: URLSearchParams, name: string): Record<string, number> {
  const text = (form.get(name) ?? '').trim();
  if (text === '') return {};
  if (!/^\d{1,9}$/.test(text)) throw new ConsoleFailure('InvalidInput', `${name} must be a whole number`);
  return { [name]: Number(text) };
}

async function change(reader: ConsoleReader, work: (budgets: BudgetClient) => Promise<WindowView>): Promise<void> {
  const client = await reader.connections.temporal();
  await reader.setting.askWorker(client, () => work(reader.setting.budgets(client)));
}
