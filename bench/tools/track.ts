/** Notified of every server and stage that is being opened, to end them should the benchmark be interrupted. */
export type Track = (opening: Promise<{ stop(): Promise<void> } | null>) => void;
