import { randomInt } from 'node:crypto';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { createConnection, createServer } from 'node:net';
import { errorCode } from '../files.ts';
import { PortTaken } from '../http-server.ts';
import { runCommand, timeLimit } from './run-command.ts';
import { describeProcess } from './server-record.ts';

const loopback = '127.0.0.1';

/** The address of a port that only this machine reaches. */
export function loopbackAddress(port: number): string {
  return `${loopback}:${port}`;
}

/** Throws `PortTaken` unless a program could listen on this port of 127.0.0.1; `option` is the flag that changes it. */
export async function assertPortFree(port: number, option: string): Promise<void> {
  // macOS allows listening on 127.0.0.1 beside a program that listens on every address, so connect as well.
  if ((await canListen(port)) && !(await answers(port))) return;
  throw new PortTaken({ host: loopback, port, flag: option }, await ownerOf(port));
}

/** Below the ephemeral ports (on Linux from 32768 on), so that no other program gets the port by chance. */
const searched = { from: 20_000, to: 32_000 };
const tries = 100;

/** A free port of 127.0.0.1, which no other docferry finds while this process lives. Throws for none. */
export async function findFreePort(): Promise<number> {
  for (let left = tries; left > 0; left -= 1) {
    const port = randomInt(searched.from, searched.to);
    if ((await claim(port)) && (await canListen(port))) return port;
  }
  throw new Error(`no free port was found between ${searched.from} and ${searched.to} of ${loopback}`);
}

/** A socket with a name, which ends with the process; elsewhere than on Linux every port counts as claimed. */
function claim(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().unref();
    server.on('error', (error) => resolve(errorCode(error) !== 'EADDRINUSE'));
    server.listen(`\0docferry-port-${port}`, () => resolve(true));
  });
}

/** `host:port` of this machine's loopback that a page in a browser can hardly guess; only Linux has more than one host. */
export async function privateAddress(): Promise<string> {
  const isLinux = process.platform === 'linux';
  const host = isLinux ? `127.${randomInt(1, 255)}.${randomInt(256)}.${randomInt(1, 255)}` : loopback;
  return `${host}:${await findFreePort()}`;
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.on('error', () => resolve(false));
    server.listen(port, loopback, () => server.close(() => resolve(true)));
  });
}

/** Whether anything accepts connections on this port of 127.0.0.1. */
export function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: loopback });
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(1000, () => end(false));
    socket.on('connect', () => end(true));
    socket.on('error', () => end(false));
  });
}

/** Name and id of the process that listens on the port, if this user may know it; undefined otherwise. */
export async function ownerOf(port: number): Promise<string | undefined> {
  const listener = process.platform === 'linux' ? listenerFromProc(port) : listenerFromLsof(port);
  const pid = await listener.catch(() => undefined);
  if (pid === undefined) return undefined;
  const program = (await describeProcess(pid))?.command.split(' ')[0]?.split('/').at(-1);
  return `${program ?? 'a process'} (process ${pid})`;
}

async function listenerFromProc(port: number): Promise<number | undefined> {
  const inodes = new Set<string>();
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0');
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of (await readFile(table, 'utf8').catch(() => '')).split('\n')) {
      // proc(5): local address, remote address, state (0A is listening) … and the inode as the tenth field.
      const fields = line.trim().split(/\s+/);
      if (fields[1]?.endsWith(`:${hexPort}`) && fields[3] === '0A' && fields[9]) inodes.add(`socket:[${fields[9]}]`);
    }
  }
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    for (const file of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      const target = await readlink(`/proc/${pid}/fd/${file}`).catch(() => '');
      if (inodes.has(target)) return Number(pid);
    }
  }
  return undefined;
}

async function listenerFromLsof(port: number): Promise<number | undefined> {
  const options = { env: process.env, signal: timeLimit(5_000) };
  const [line] = await runCommand('lsof', ['-nP', '-t', `-iTCP:${port}`, '-sTCP:LISTEN'], options);
  return line === undefined ? undefined : Number(line);
}
