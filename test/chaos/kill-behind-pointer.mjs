/**
 * Loaded into a process by `node --import`: ends it by SIGKILL right after the pointer of a site in a folder store has
 * moved, before the process can tell anyone.
 */
const binding = process.binding('fs');
const { rename } = binding;

binding.rename = function (...args) {
  const answer = Reflect.apply(rename, this, args);
  if (String(args[1]).endsWith('/current.json')) process.kill(process.pid, 'SIGKILL');
  return answer;
};
