// SPDX-License-Identifier: Apache-2.0
// Starts quire-server with the bundled model on a free port, for tests with clients in Node.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import path from 'node:path';

export const bundled = path.join(process.env.QUIRE_ROOT, 'models/quire-tiny/quire-tiny.gguf');

// Resolves to { url, log, stop() }; stop() sends SIGTERM and resolves to the exit code.
export async function startServer(args = [], model = bundled) {
  const child = spawn(process.env.QUIRE_SERVER, ['--port', '0', '-m', model, ...args],
                      { stdio: ['ignore', 'ignore', 'pipe'] });
  const log = [];
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const port = await new Promise((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      log.push(line);
      const found = /listening.*?:(\d+)\b/.exec(line);
      if (found) resolve(found[1]);
    });
    exited.then(() => reject(new Error('the server did not start: ' + log.join('\n'))));
  });
  return {
    url: `http://127.0.0.1:${port}`,
    log,
    stop() {
      child.kill('SIGTERM');
      return exited;
    },
  };
}

// Waits until check() resolves to a true value, for at most 20 seconds.
export async function eventually(check) {
  for (let i = 0; i < 200; i++) {
    if (await check()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('it did not happen within 20 seconds');
}
