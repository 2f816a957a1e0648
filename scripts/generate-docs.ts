import { writeFile } from 'node:fs/promises';
import { badInputPage } from './docs/bad-input-page.ts';
import { commandsPage } from './docs/commands-page.ts';
import { configurationPage } from './docs/configuration-page.ts';
import { interfacePage } from './docs/interface-page.ts';
import { verificationPage } from './docs/verification-page.ts';

/** Writes the pages of docs/ that are made from the code and the tests' names; built, this file is two folders below the repository. */
const docs = new URL('../../docs/', import.meta.url);
await writeFile(new URL('configuration.md', docs), configurationPage());
await writeFile(new URL('commands.md', docs), commandsPage());
await writeFile(new URL('interface-coverage.md', docs), interfacePage());
await writeFile(new URL('bad-input.md', docs), await badInputPage());
await writeFile(new URL('verification.md', docs), verificationPage());
