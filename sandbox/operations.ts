import type { EntryChange, NewEntries, ProjectFeedback } from './feedback/project-feedback.ts';
import type { World } from './world.ts';

/** Changes at run time, besides faults. Each throws an Error for unknown names. */
export interface Operations {
  /** Adds feedback and gives the new ids. */
  addEntries(projectId: string, entries: NewEntries): string[];
  changeEntries(projectId: string, changes: readonly EntryChange[]): void;
  deleteEntries(projectId: string, ids: readonly string[]): void;
  /** Every current entry of a project as it would be served. */
  truth(projectId: string): Generator<unknown>;
  /** Publishes the given revision of a site, or the next one; gives the revision. */
  publishRevision(domain: string, revision?: number): number;
  /** Replaces a job's archive by a file, or by a render of the next revision; its ETag changes. */
  replaceObject(jobId: string, file?: string): Promise<void>;
}

export function createOperations(world: World): Operations {
  const project = (id: string): ProjectFeedback => {
    const found = world.feedback.get(id);
    if (found === undefined) throw new Error(`there is no project ${JSON.stringify(id.slice(0, 60))}`);
    return found;
  };
  return {
    addEntries: (projectId, entries) => project(projectId).add(entries, world.clock.serviceNow()),
    changeEntries(projectId, changes) {
      for (const change of changes) project(projectId).change(change);
    },
    deleteEntries(projectId, ids) {
      for (const id of ids) project(projectId).delete(id);
    },
    truth: (projectId) => project(projectId).truth(),
    publishRevision: (domain, revision) => world.sites.publish(domain, revision),
    async replaceObject(jobId, file) {
      await world.objects.replace(world.objects.keyOf(jobId), file);
    },
  };
}
