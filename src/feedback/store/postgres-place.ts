/** Where a PostgreSQL database is and how to be let in. */
export interface PostgresPlace {
  /** For messages: never with the password. */
  place: string;
  /** Name, address, or the folder of a Unix socket. */
  host: string;
  port: number;
  database: string;
  user: string;
  /** Null for servers that ask for none. */
  password: { read(): string } | null;
  /** As libpq means it: `require` encrypts without looking at the certificate. Absolute paths. */
  tls: {
    mode: 'disable' | 'require' | 'verify-ca' | 'verify-full';
    rootCert: string | null;
    cert: string | null;
    key: string | null;
  };
  /** Settings of the session, e.g. `-c search_path=docferry`. */
  options: string | null;
}
