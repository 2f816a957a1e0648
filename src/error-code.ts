/** The code of a system or SQLite error, like `EACCES`; undefined when the error has none. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
