const stopSignals = ['SIGINT', 'SIGTERM'] as const;

export interface Interrupt {
  /** Aborted by the first Ctrl-C or SIGTERM. */
  signal: AbortSignal;
  /** Restores the default handling of the signals. */
  dispose(): void;
}

/** Turns the first SIGINT or SIGTERM into an aborted signal; the second ends the process at once, as shells expect. */
export function onInterrupt(): Interrupt {
  const controller = new AbortController();
  const listen = (signal: NodeJS.Signals) => {
    if (controller.signal.aborted) process.exit(signal === 'SIGINT' ? 130 : 143);
    controller.abort();
  };
  for (const name of stopSignals) process.on(name, listen);
  return {
    signal: controller.signal,
    dispose: () => {
      for (const name of stopSignals) process.off(name, listen);
    },
  };
}

/** Resolves when the signal is aborted. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
