import { serve } from '@hono/node-server';
import { Hono } from 'hono';

/* A page of so many bytes by `hono` alone, in a process of its own; tells its parent the port (started by bench/console/console.ts). */

const page = 'x'.repeat(Number(process.argv[2]));
const hono = new Hono().get('/', (c) => c.html(page));
const server = serve({ fetch: hono.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => process.send?.(port));
process.on('disconnect', () => server.close(() => process.exit(0)));
