/** What the tests in this folder share: the program under test, waiting for conditions, and the closing line. */

import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual, promisify } from 'node:util';

export const KEY = 'a-key-for-tests-only';
const PATIENCE = 20_000;
const children = new Set();
process.on('exit', () => children.forEach((child) => child.kill('SIGKILL')));

/** The program under test, over a SQLite file that outlives its process. */
export class Service {
  folder = mkdtempSync(join(tmpdir(), 'companion-kit-'));
  /** @type {Record<string, string>} */ #more;
  #process;

  /** @param {Record<string, string>} [more] further variables of the environment */
  static async start(more = {}) {
    const service = new Service();
    const [http, management] = await Promise.all([freePort(), freePort()]);
    service.public = `http://127.0.0.1:${http}`;
    service.management = `http://127.0.0.1:${management}`;
    service.#more = more;
    await service.start();
    return service;
  }

  #options() {
    const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('COMPANION_'));
    const ours = {
      COMPANION_STORAGE__URL: `sqlite:${join(this.folder, 'companion.db')}`,
      COMPANION_HTTP__LISTEN: this.public.replace('http://', ''),
      COMPANION_MANAGEMENT__LISTEN: this.management.replace('http://', ''),
      COMPANION_MANAGEMENT__KEY: KEY,
      COMPANION_LOG__LEVEL: 'error',
    };
    return { cwd: this.folder, env: { ...Object.fromEntries(inherited), ...ours, ...this.#more } };
  }

  async start() {
    this.#process = run(['serve'], this.#options());
    await until('the service is ready', async () => {
      const answer = await fetch(`${this.management}/health/ready`).catch(() => undefined);
      return answer?.status === 200;
    });
  }

  /** @param {NodeJS.Signals} how */
  async end(how = 'SIGKILL') {
    await finish(this.#process, how);
  }

  forget() {
    for (const file of readdirSync(this.folder)) {
      if (file.startsWith('companion.db')) rmSync(join(this.folder, file));
    }
  }

  async remove() {
    await this.end();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** @param {object[]} records */
  async sync(...records) {
    const body = records.map((record) => JSON.stringify(record)).join('\n');
    const headers = { Authorization: `Bearer ${KEY}` };
    const answer = await fetch(`${this.management}/bot/sync`, { method: 'POST', body, headers });
    expect(answer.status, 200, 'the test may sync');
  }

  async metrics() {
    const headers = { Authorization: `Bearer ${KEY}` };
    return (await fetch(`${this.management}/metrics`, { headers })).text();
  }

  /** The `data` of an answer of the management API. */
  async manage(method, path, body) {
    const headers = { Authorization: `Bearer ${KEY}` };
    const answer = await fetch(this.management + path, { method, headers, body: body && JSON.stringify(body) });
    expect(answer.status, 200, `${method} ${path}`);
    return (await answer.json()).data;
  }

  /** What `companion export` says, by key. A member without roles is the same as one who was never reported. */
  async stored() {
    const options = { ...this.#options(), maxBuffer: 2 ** 28 };
    const { stdout } = await promisify(execFile)(program(), ['export'], options);
    const records = stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
    return new Map(
      records
        // The service keeps periods of its own.
        .filter((record) => record.kind !== 'period')
        .filter((record) => record.kind !== 'member' || record.roles.length)
        .map((record) => [
          keyOf(record),
          record.kind === 'member' ? { ...record, roles: record.roles.sort() } : record,
        ]),
    );
  }
}

/**
 * Calls `test` with the address of a server that accepts everything `answer` has no answer for, and what it received.
 * @param {(request: { method: string, path: string, headers: object, body: string, at: number }) =>
 *   { status: number, headers?: object, data: object } | undefined} answer
 */
export async function withRecordingServer(answer, test) {
  const received = [];
  const server = createHttpServer((request, response) => {
    let body = '';
    request.on('data', (part) => (body += part));
    request.on('end', () => {
      const { method, url: path, headers } = request;
      received.push({ method, path, headers, body, at: Date.now() });
      const accepted = { status: 200, data: { added: 0, changed: 0, removed: 0 } };
      const { status, headers: sent = {}, data } = answer(received.at(-1)) ?? accepted;
      response.writeHead(status, sent);
      response.end(JSON.stringify({ code: status, message: '', data }));
    });
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  try {
    await test(`http://127.0.0.1:${server.address().port}`, received);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

/**
 * Calls `test` with the address of a proxy and the methods whose answers it loses: the connection closes once they were
 * served.
 */
export async function withLossyProxy(target, test) {
  const loses = new Set();
  const server = createHttpServer((request, response) => {
    let body = '';
    request.on('data', (part) => (body += part));
    request.on('end', async () => {
      const { method, url, headers } = request;
      const options = { method, body: body || undefined, headers: { Authorization: headers.authorization } };
      const answer = await fetch(target + url, options).catch(() => undefined);
      const text = await answer?.text();
      if (!answer || loses.has(method)) return request.socket.destroy();
      response.writeHead(answer.status).end(text);
    });
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  try {
    await test(`http://127.0.0.1:${server.address().port}`, loses);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

export function program() {
  return resolve(process.env.COMPANION_BIN);
}

/** Starts the program; it ends with the test at the latest. @param {string[]} args @param {object} options */
export function run(args, options, stdio = ['ignore', 'ignore', 'ignore']) {
  const child = spawn(program(), args, { ...options, stdio });
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

export async function finish(child, how = 'SIGKILL') {
  if (!children.has(child)) return;
  const gone = new Promise((done) => child.once('exit', done));
  child.kill(how);
  await gone;
}

export function keyOf(record) {
  const names = { guild: ['id'], member: ['guild', 'user'], feedback: ['id'], team: ['discord_id', 'category'] };
  Object.assign(names, { outline: ['guild'], settings: ['guild'], schema: [] });
  return [record.kind, ...(names[record.kind] ?? ['user']).map((name) => record[name])].join(' ');
}

export function freePort() {
  return new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

/** Waits for a condition, and gives up loudly. @param {string} what @param {() => unknown} condition */
export async function until(what, condition) {
  const deadline = Date.now() + PATIENCE;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`waited in vain until ${what}`);
    await new Promise((done) => setTimeout(done, 20));
  }
}

export function expect(found, wanted, what) {
  if (isDeepStrictEqual(found, wanted)) return;
  const shown = Array.isArray(found) ? found.slice(0, 5) : found;
  throw new Error(`${what}: found ${JSON.stringify(shown, null, 1)}, wanted ${JSON.stringify(wanted)}`);
}

/** Runs tests one after another, or those whose names have one of the words of the command line. */
export async function main(tests) {
  if (!process.env.COMPANION_BIN) {
    console.log('COMPANION_BIN must name the program');
    process.exit(2);
  }
  const words = process.argv.slice(2);
  let passed = 0;
  let failed = 0;
  for (const test of tests) {
    if (words.length && !words.some((word) => test.name.includes(word))) continue;
    const began = Date.now();
    try {
      await test();
      passed += 1;
      console.log(`ok ${test.name} (${((Date.now() - began) / 1000).toFixed(1)} s)`);
    } catch (error) {
      failed += 1;
      console.log(`FAILED ${test.name}\n${error.stack}`);
    }
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed ? 1 : 0);
}
