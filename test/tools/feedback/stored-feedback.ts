import { Database } from '../../../src/sqlite.ts';
import type { Scene } from '../scene.ts';

/** What the feedback database of a scene holds, read past the store: rows by id. */
export function storedFeedback(scene: Pick<Scene, 'config' | 'project'>) {
  const db = new Database(scene.config.store.feedback.place, { readOnly: true });
  try {
    const rows = (table: string) =>
      db.prepare(`select * from ${table} where project_id = ?`).all(scene.project) as Record<string, unknown>[];
    const byId = (list: Record<string, unknown>[]) => new Map(list.map((row) => [String(row.id), row]));
    return { kept: byId(rows('feedback')), rejected: byId(rows('feedback_rejects')) };
  } finally {
    db.close();
  }
}
