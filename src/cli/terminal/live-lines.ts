import type { createLogUpdate } from 'log-update';

/** The present state of something in progress. */
export interface Step {
  /** Off a terminal, a step is printed only when this changes. */
  key: string;
  /** For a terminal, redrawn in place. */
  text: string;
  /** For a log; the text by default. */
  line?: string;
}

/** Where steps are shown during a wait. */
export interface LiveView {
  /** Lines of parallel work have different labels. */
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

  static async open(stream: NodeJS.WriteStream): Promise<LiveLines> {
    const { createLogUpdate } = await import('log-update');
    return new LiveLines(createLogUpdate(stream));
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
