/** Each one listed costs some ten calls to Temporal. */
export const schedulesPerPage = 100;
