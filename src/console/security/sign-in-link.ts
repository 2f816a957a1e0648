import { newToken, sameSecret } from './sessions.ts';

/** The secret in the printed address. It works once; then another takes its place. */
export class SignInLink {
  readonly #address: string;
  readonly #onNew: (url: string) => void;
  #token = newToken();

  /** `onNew` is told each address after the first. */
  constructor(address: string, onNew: (url: string) => void) {
    this.#address = address;
    this.#onNew = onNew;
  }

  get url(): string {
    return `${this.#address}/sign-in?token=${this.#token}`;
  }

  /** Whether this is the token; it is used up then. */
  use(token: string): boolean {
    if (!sameSecret(token, this.#token)) return false;
    this.#token = newToken();
    this.#onNew(this.url);
    return true;
  }
}
