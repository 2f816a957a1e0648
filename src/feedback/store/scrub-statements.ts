/*
 * What takes removed bytes out of PostgreSQL's files. Both want the owner of the tables; another role has to leave them to
 * the owner.
 */

/** Old versions of rows, and the values that the planner's statistics took from them. */
export const vacuum = 'VACUUM (ANALYZE) feedback, feedback_changes, feedback_rejects, search_entries';

/** The index of words keeps each word that it ever held. */
export const reindex = 'REINDEX INDEX CONCURRENTLY search_entries_by_word';
