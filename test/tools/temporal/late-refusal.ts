import type { Client } from '@temporalio/client';

/** A client that learns that a workflow runs already only when `meanwhile` is over. */
export function lateRefusal(client: Client, meanwhile: () => Promise<unknown>): Client {
  const { workflow } = client;
  const start = async (...args: Parameters<typeof workflow.start>) => {
    try {
      return await workflow.start(...args);
    } catch (error) {
      await meanwhile();
      throw error;
    }
  };
  return Object.create(client, { workflow: { value: Object.create(workflow, { start: { value: start } }) } }) as Client;
}
