import { type CommandContext, loadContextConfig } from '../context.ts';
import { type ExitCode, exitCodes } from '../failures/exit-codes.ts';
import { startConsolePart } from '../processes/console-part.ts';
import { withParts } from '../processes/running-parts.ts';
import { warnOfOpenConsole } from '../processes/up-warnings.ts';

interface ConsoleFlags {
  port: number;
  host: string;
}

export default async function runConsole(context: CommandContext, { port, host }: ConsoleFlags): Promise<ExitCode> {
  const { output } = context;
  return withParts(output, async (parts, interrupted) => {
    const config = await loadContextConfig(context);
    warnOfOpenConsole(output, config, host);
    const onNewLink = (link: string) => output.note(`to sign in once more: ${link}`);
    const { console, part } = await startConsolePart(config, { host, port, temporalUi: null, onNewLink });
    parts.add(part);
    const { url, signInUrl } = console;
    const may = config.console.write ? 'operators may act' : 'read-only: console.write lets operators act';
    output.result(
      { ready: true, url, signInUrl, write: config.console.write },
      `open ${signInUrl}\nthe link works once; ${may}\nconsole: ready`,
    );
    await parts.untilAborted(interrupted);
    output.note('stopping …');
    return exitCodes.done;
  });
}
