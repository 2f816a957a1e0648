import { errorCode } from '../../error-code.ts';
import { ExplainedError } from '../../rules/explained-error.ts';

const full = /^(ENOSPC|EDQUOT|SQLITE_FULL)$/;

/** The store's folder cannot be used: missing rights, read-only, full. */
export class StoreNotWritable extends ExplainedError {
  override readonly name = 'StoreNotWritable';
  readonly code = 'StoreUnavailable';
  readonly hint = null;
  readonly folder: string;
  /** Code of the system error, e.g. `EACCES`, `ENOSPC`. */
  readonly systemCode: string;

  constructor(folder: string, systemCode: string) {
    super(whyNot(folder, systemCode));
    this.folder = folder;
    this.systemCode = systemCode;
  }
}

function whyNot(folder: string, code: string): string {
  if (full.test(code)) {
    return `the disk of the bundle store ${folder} is full (${code}): free some space; what is published stays as it is`;
  }
  if (code === 'EXDEV') return `the bundle store lies on several file systems (${code}): put all of ${folder} on one`;
  return `cannot write to the bundle store ${folder} (${code}): check that it is a folder, its owner and free space`;
}

/** The object store refuses a request for a reason that a person can fix; never holds a key or an answer. */
export class StoreRefused extends ExplainedError {
  override readonly name = 'StoreRefused';
  readonly code = 'StoreUnavailable';
  readonly hint: string;
  /** True when it may pass without a person, as when expired credentials are renewed by their issuer. */
  readonly mayPass: boolean;

  constructor(problem: string, hint: string, mayPass = false) {
    super(problem);
    this.hint = hint;
    this.mayPass = mayPass;
  }
}

/** The object store does not answer or is overloaded; it may work later. */
export class StoreUnreachable extends ExplainedError {
  override readonly name = 'StoreUnreachable';
  readonly code = 'StoreUnavailable';
  readonly hint = 'check store.bundles.s3.endpoint and the network, or try later';
}

/** Nothing can be published because the signing key cannot be used; never holds a part of the key. */
export class SigningKeyUnusable extends ExplainedError {
  override readonly name = 'SigningKeyUnusable';
  readonly code = 'SigningKeyUnusable';
  readonly hint = 'see store.bundles.signing: a key file of `minisign -G`, with its password unless made with -W';

  constructor(keyFile: string, problem: string) {
    super(`the signing key ${keyFile} ${problem}`);
  }
}

/** The version's name already has other content; versions never change. */
export class VersionConflict extends Error {
  override readonly name = 'VersionConflict';
}

/** A stored version is not, or no longer, what its manifest says; the message says how. */
export class VersionDamaged extends Error {
  override readonly name = 'VersionDamaged';
}

/** The staged archive is missing, or not the one that was verified. */
export class StagedChanged extends Error {
  override readonly name = 'StagedChanged';
}

/** A JSON file of the store is not what a store writes there: another program, or a person, has changed it. */
export class RecordDamaged extends ExplainedError {
  override readonly name = 'RecordDamaged';
  readonly code = 'StoreUnavailable';
  readonly hint = 'put it back from a backup; `docferry store verify` says what else is damaged';

  constructor(file: string) {
    super(`${file} in the bundle store is damaged`);
  }
}

/** Another process has kept the store's lock for too long; it may work later. */
export class StoreBusy extends Error {
  override readonly name = 'StoreBusy';
}

const notWritable =
  /^(EACCES|EPERM|EROFS|ENOSPC|EDQUOT|EFBIG|ENOTDIR|EEXIST|ELOOP|ENOENT|EXDEV|SQLITE_(CANTOPEN|READONLY|FULL).*)$/;

/** Runs a change of the store; errors of the file system that a person must fix become `StoreNotWritable`. */
export async function changing<T>(folder: string, change: () => Promise<T>): Promise<T> {
  try {
    return await change();
  } catch (error) {
    const code = errorCode(error) ?? '';
    throw notWritable.test(code) ? new StoreNotWritable(folder, code) : error;
  }
}
