import type { CommandContext } from '../../context.ts';
import { type ExitCode, exitCodes } from '../../failure.ts';

/** Shells that can complete commands. */
export const shells = ['bash', 'zsh', 'fish'] as const;

export type Shell = (typeof shells)[number];

/*
 * The scripts know nothing of the commands: they ask `docferry complete`, so that they need not be renewed. Each line of
 * its answer is a word, a tab and what it means. Without an answer the shell completes names of files. The short flags of
 * fish's commandline are those that versions 3 and 4 both know.
 */
const scripts: Record<Shell, string> = {
  bash: `_docferry() {
  local IFS=$'\\n'
  COMPREPLY=($(docferry complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
}
complete -o default -F _docferry docferry`,
  zsh: `#compdef docferry
_docferry() {
  local -a found
  found=("\${(@f)$(docferry complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  found=("\${(@)found:#}")
  if (( \${#found} == 0 )); then
    _files
  else
    found=("\${(@)found//:/\\\\:}")
    found=("\${(@)found/$'\\t'/:}")
    _describe 'docferry' found
  fi
}
compdef _docferry docferry`,
  fish: `function __docferry_complete
    set -l words (commandline -opc) "$(commandline -ct)"
    docferry complete -- $words[2..] 2>/dev/null
end
complete --command docferry --no-files --arguments '(__docferry_complete)'
complete --command docferry --condition 'test -z "$(__docferry_complete)"' --force-files`,
};

export default async function printScript({ output }: CommandContext, shell: Shell): Promise<ExitCode> {
  output.result({ shell, script: scripts[shell] }, scripts[shell]);
  return exitCodes.done;
}
