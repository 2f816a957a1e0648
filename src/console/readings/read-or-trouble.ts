import type { Trouble } from '../../operations/gather-facts.ts';
import type { ConsoleSetting } from '../console-setting.ts';

/** Reads one part of a page: null, with its trouble noted, for what cannot be read, so that the others are shown. */
export function readerNoting(troubles: Trouble[], { explain }: Pick<ConsoleSetting, 'explain'>) {
  return async <Found>(ask: () => Promise<Found>): Promise<Found | null> => {
    try {
      return await ask();
    } catch (error) {
      troubles.push(explain(error));
      return null;
    }
  };
}
