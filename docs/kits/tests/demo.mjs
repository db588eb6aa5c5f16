/** `companion demo` for a test: the whole service with a sample world, and the provider to sign in at. */

import { spawnSync } from 'node:child_process';

import { finish, run, until } from './harness.mjs';

export class Demo {
  #process;
  #printed = '';

  static async start() {
    const demo = new Demo();
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('COMPANION_'));
    const options = { env: { ...Object.fromEntries(inherited), COMPANION_LOG__LEVEL: 'error' } };
    demo.#process = run(['demo', '--port', '0'], options, ['ignore', 'pipe', 'ignore']);
    demo.#process.stdout.on('data', (text) => (demo.#printed += text));
    await until('the demo says its addresses', () => demo.#printed.includes('Stop with Ctrl-C'));
    demo.public = demo.#said(/Public API: +(\S+)/);
    demo.management = demo.#said(/Management API: +(\S+)/);
    demo.key = demo.#said(/key for this run: (\S+)\)/);
    demo.signIn = demo.#said(/Sign-in page: +(\S+)/);
    demo.provider = new URL(demo.signIn).origin;
    await until('it is ready', async () => (await fetch(`${demo.management}/health/ready`)).status === 200);
    return demo;
  }

  #said(pattern) {
    const match = pattern.exec(this.#printed);
    if (!match) throw new Error(`the demo printed nothing like ${pattern}`);
    return match[1];
  }

  /** A fresh code of a sample user. @param {string} user @param {string} [scope] */
  async code(user, scope = 'identify guilds') {
    const url = new URL(this.signIn);
    url.searchParams.set('login_hint', user);
    url.searchParams.set('scope', scope);
    const answer = await fetch(url, { redirect: 'manual' });
    return new URL(answer.headers.get('Location')).searchParams.get('code');
  }

  /** Lets it remove its folder. */
  async stop() {
    await finish(this.#process, 'SIGTERM');
  }
}

/** Runs a command to its end and gives what it printed. */
export function output(command, args) {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' });
  return { status, text: stdout + stderr };
}
