// A receiver of webhooks, as a process of its own: `receiver.mjs PORT FILE [fault …]`. It writes each message to the file
// before it answers. The first messages meet the faults, one each.
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';

const [port, file, ...faults] = process.argv.slice(2);
/** Longer than docferry waits for an answer. */
const lateMs = 25_000;

createServer((request, response) => {
  const parts = [];
  request.on('data', (part) => parts.push(part));
  request.on('end', () => {
    appendFileSync(file, `${Buffer.concat(parts)}\n`);
    const answer = (status) => response.writeHead(status).end();
    switch (faults.shift()) {
      case 'fail':
        answer(500);
        break;
      case 'late':
        setTimeout(answer, lateMs, 204);
        break;
      case 'cut':
        request.socket.destroy();
        break;
      case 'die':
        process.kill(process.pid, 'SIGKILL');
        break;
      default:
        answer(204);
    }
  });
}).listen(Number(port), '127.0.0.1', () => process.stdout.write('receiver: ready\n'));
