import { type CommandContext, type CommandFile, loadContextConfig } from '../context.ts';
import { type ExitCode, exitCodes } from '../failure.ts';
import { noLinkHelp, port } from '../flags.ts';
import { startConsolePart } from '../parts/console-part.ts';
import { withParts } from '../parts/running-parts.ts';
import { warnOfNoSignIn, warnOfOpenConsole } from '../parts/up-warnings.ts';

export default {
  console: (command, run) =>
    command
      .option('--port <port>', 'port to listen on', port('--port'), 8088)
      .option('--host <address>', 'address to listen on; 0.0.0.0 for all, in a container', '127.0.0.1')
      .option('--no-link', noLinkHelp)
      .action(run(runConsole)),
} satisfies CommandFile;

interface ConsoleFlags {
  port: number;
  host: string;
  /** False for `--no-link`. */
  link: boolean;
}

async function runConsole(context: CommandContext, { port, host, link }: ConsoleFlags): Promise<ExitCode> {
  const { output } = context;
  return withParts(output, async (parts, interrupted) => {
    const config = await loadContextConfig(context);
    warnOfOpenConsole(output, config, host);
    warnOfNoSignIn(output, config, link);
    const onNewLink = (next: string) => output.note(`to sign in once more: ${next}`);
    const place = { host, port, temporalUi: null, link, onNewLink };
    const { console, part } = await startConsolePart(config, place);
    parts.add(part);
    const { url, signInUrl } = console;
    const may = config.console.write ? 'operators may act' : 'read-only: console.write lets operators act';
    output.result(
      { ready: true, url, signInUrl, write: config.console.write },
      `open ${signInUrl ?? url}\n${signInUrl === null ? '' : 'the link works once; '}${may}\nconsole: ready`,
    );
    await parts.untilAborted(interrupted);
    output.note('stopping …');
    return exitCodes.done;
  });
}
