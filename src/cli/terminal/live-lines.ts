import type { createLogUpdate } from 'log-update';
import type { OutputStream } from './output.ts';

/** How something stands now. */
export interface Step {
  /** Elsewhere than on a terminal a step is printed when this changes, not each time. */
  key: string;
  /** For a terminal, in place. */
  text: string;
  /** For a log, where the line stays; the text by default. */
  line?: string;
}

/** Where steps are shown while one waits. */
export interface LiveView {
  /** Things that go on side by side have labels of their own. */
  show(label: string, step: Step): void;
  /** A line that stays. */
  write(text: string): void;
  end(): void;
}

/** One line for each change of a step. */
export class PlainLines implements LiveView {
  readonly #print: (line: string) => void;
  readonly #shown = new Map<string, string>();

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  show(label: string, { key, text, line }: Step): void {
    if (this.#shown.get(label) === key) return;
    this.#shown.set(label, key);
    this.#print(`${label}: ${line ?? text}`);
  }

  write(text: string): void {
    this.#print(text);
  }

  end(): void {}
}

/** One line for each label, redrawn in place; needs a terminal. */
export class LiveLines implements LiveView {
  readonly #update: ReturnType<typeof createLogUpdate>;
  readonly #texts = new Map<string, string>();

  private constructor(update: ReturnType<typeof createLogUpdate>) {
    this.#update = update;
  }

  static async open(stream: OutputStream): Promise<LiveLines> {
    const { createLogUpdate } = await import('log-update');
    return new LiveLines(createLogUpdate(stream as NodeJS.WriteStream));
  }

  show(label: string, { text }: Step): void {
    this.#texts.set(label, text);
    this.#draw();
  }

  write(text: string): void {
    this.#update.persist(text);
    this.#draw();
  }

  end(): void {
    this.#texts.clear();
    this.#update.clear();
    this.#update.done();
  }

  #draw(): void {
    const width = Math.max(...[...this.#texts.keys()].map((label) => label.length));
    this.#update([...this.#texts].map(([label, text]) => `${label.padEnd(width)}  ${text}`).join('\n'));
  }
}
