import { z } from 'zod';

/*
 * The wire of the documentation service (service-interface.md, appendix included). Unknown fields are let through, unknown
 * values of `source` and `status` too. What the interface leaves open is `unknown` here and read elsewhere.
 */

const text = z.string();
const orNull = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? null);
/** "Used when present, never required" (appendix): what cannot be understood counts as absent. */
const ifReadable = <T extends z.ZodType>(schema: T) => schema.nullish().catch(null);

/** The words of an error: a text by the interface, an object around one elsewhere. */
const errorWords = z.union([text, z.looseObject({ message: text }).transform(({ message }) => message)]);

/**
 * "Feedback entry", base fields. `id`, `path`, `source` and `status` identify an entry and cannot be absent; a
 * missing `comment` or `createdAt` says no more than a null one.
 */
const baseEntry = z.looseObject({
  id: text.min(1),
  path: text,
  comment: orNull(text),
  createdAt: orNull(text),
  source: text,
  status: text,
});

/** "Feedback entry", the three variants; base for every `source` without fields of its own, known or not. */
export const feedbackEntrySchemas = {
  base: baseEntry,
  contextual: baseEntry.extend({ helpful: orNull(z.boolean()), contact: orNull(text) }),
  code_snippet: baseEntry.extend({ code: orNull(text), filename: orNull(text), lang: orNull(text) }),
};

/**
 * "Feedback response". Entries are parsed one by one, so that a bad one never fails its page. A missing `nextCursor`
 * says no more than a null one: whether more follows, `hasMore` tells.
 */
export const feedbackResponseSchema = z.looseObject({
  feedback: z.array(z.unknown()),
  nextCursor: orNull(text),
  hasMore: z.boolean(),
});

/** "Error response (analytics)" and the `{error}` of the static export errors. Bodies from gateways have neither. */
export const errorResponseSchema = z.looseObject({
  error: ifReadable(errorWords),
  details: z
    .array(z.looseObject({ message: text }).catch({ message: '' }))
    .nullish()
    .catch(null),
});

const jobFields = {
  /** "Types and units: not shown." */
  progress: z.unknown().optional(),
  pageCount: z.unknown().optional(),
  createdAt: ifReadable(text),
  updatedAt: ifReadable(text),
  error: ifReadable(errorWords),
};

/** Answer of "Start static export job": only `jobId` is promised. */
export const startedJobSchema = z.looseObject({ jobId: text.min(1), status: ifReadable(text), ...jobFields });

/** Answer of "Get static export job status": only `status` is promised. */
export const jobStatusSchema = z.looseObject({ status: text, jobId: ifReadable(text), ...jobFields });

/** Answer of "Generate export bundle". */
export const bundleResponseSchema = z.looseObject({
  bundleUrl: text.min(1),
  jobId: ifReadable(text),
  sizeBytes: ifReadable(z.int().nonnegative()),
  expiresAt: ifReadable(text),
});
