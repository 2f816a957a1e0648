import { availableParallelism, cpus, loadavg } from 'node:os';

/** What figures were measured on, for the head of a report. */
export function machineFacts(): string {
  const model = cpus()[0]?.model.trim() ?? 'unknown';
  const load = loadavg()[0]?.toFixed(1);
  return `${availableParallelism()} cores (${model}), Node ${process.versions.node}, load ${load} at the end`;
}
