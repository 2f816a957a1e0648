import { writeFile } from 'node:fs/promises';
import { commandsPage } from './docs/commands-page.ts';
import { configurationPage } from './docs/configuration-page.ts';
import { rulesPage } from './docs/rules-page.ts';

/** Writes the pages of docs/ that are made from the code; built, this file is two folders below the repository. */
const docs = new URL('../../docs/', import.meta.url);
await writeFile(new URL('configuration.md', docs), configurationPage());
await writeFile(new URL('commands.md', docs), await commandsPage());
await writeFile(new URL('rules.md', docs), rulesPage());
