/**
 * Sends every request of requests.http, and holds the answers against the comments beside them.
 *
 *     COMPANION_BIN=target/debug/companion node docs/kits/tests/test-requests.mjs
 */

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { Demo } from './demo.mjs';
import { Service, expect, main } from './harness.mjs';

const FILE = fileURLToPath(new URL('../requests.http', import.meta.url));
const text = readFileSync(FILE, 'utf8');
const page = (name) => readFileSync(fileURLToPath(new URL(`../../${name}`, import.meta.url)), 'utf8');

/**
 * @typedef {{ title: string, name?: string, status: number, word?: string, repeat: number, method: string, url: string,
 *   headers: [string, string][], body?: string }} Request
 */

/** @returns {{ variables: Map<string, string>, requests: Request[] }} */
function parsed() {
  const [head, ...blocks] = text.split(/^###/m);
  const variables = new Map([...head.matchAll(/^@(\w+) = (.*)$/gm)].map(([, name, value]) => [name, value]));
  return { variables, requests: blocks.map(request) };
}

/** @returns {Request} */
function request(block) {
  const [title, ...rest] = block.split('\n');
  const start = rest.findIndex((line) => /^[A-Z]+ /.test(line));
  const notes = rest.slice(0, start).join('\n');
  const expected = /^# expect (\d{3})(?: (\w+))?$/m.exec(notes);
  if (start < 0 || !expected) throw new Error(`a request without "# expect": ${block}`);
  const [method, url] = rest[start].split(' ');
  const lines = rest.slice(start + 1).filter((line) => !/^# [\w ].* -+$/.test(line)); // headings between requests
  const blank = lines.indexOf('');
  const headers = lines.slice(0, blank < 0 ? undefined : blank).map((line) => line.split(/: (.*)/s).slice(0, 2));
  const body =
    blank < 0
      ? ''
      : lines
          .slice(blank + 1)
          .join('\n')
          .trim();
  return {
    title: title.trim(),
    name: /^# @name (\w+)$/m.exec(notes)?.[1],
    status: Number(expected[1]),
    word: expected[2],
    repeat: Number(/^# repeat (\d+)$/m.exec(notes)?.[1] ?? 1),
    method,
    url,
    headers: /** @type {[string, string][]} */ (headers),
    body: body || undefined,
  };
}

/** Fills `{{…}}` in: a variable, a fresh id, or a part of an earlier answer. */
function filled(template, variables, answers) {
  return template.replace(/\{\{(.+?)\}\}/g, (whole, what) => {
    if (what === '$guid') return randomUUID();
    const reference = /^(\w+)\.response\.body\.\$\.(.+)$/.exec(what);
    const value = reference
      ? reference[2].split('.').reduce((place, name) => place?.[name], answers.get(reference[1]))
      : variables.get(what);
    if (value === undefined) throw new Error(`${whole} has no value`);
    return filled(String(value), variables, answers);
  });
}

async function send({ method, url, headers, body }, variables, answers) {
  const fill = (template) => filled(template, variables, answers);
  const file = body && /^< (.+)$/.exec(body)?.[1];
  const content = file ? readFileSync(new URL(file, new URL('../requests.http', import.meta.url))) : body && fill(body);
  const answer = await fetch(fill(url), {
    method,
    headers: headers.map(([name, value]) => [name, fill(value)]),
    body: content,
    redirect: 'manual',
  });
  const isStream = answer.headers.get('Content-Type') === 'text/event-stream';
  const shown = isStream ? await answer.body.cancel() : await answer.text(); // a stream has no end
  let json;
  try {
    json = JSON.parse(shown);
  } catch {
    json = undefined; // metrics, the reference page, and answers without a body
  }
  const wait = Math.min(Number(answer.headers.get('Retry-After') ?? 0), 5) * 1000;
  return { status: answer.status, word: json?.data?.error, json, wait };
}

/** Sends a request, again and again where it says so, until the answer is the one that is named. */
async function check(request, variables, answers) {
  let found;
  for (let attempt = 0; attempt < request.repeat; attempt += 1) {
    found = await send(request, variables, answers);
    if (found.status === request.status && found.word === request.word) break;
    if (found.wait) await new Promise((done) => setTimeout(done, found.wait)); // an earlier trouble is not over
  }
  if (request.name) answers.set(request.name, found.json);
  return `${found.status}${found.word ? ` ${found.word}` : ''}`;
}

async function every_request_is_answered_as_the_comment_beside_it_says() {
  const { variables, requests } = parsed();
  const [demo, bare] = await Promise.all([Demo.start(), Service.start()]);
  variables.set('public', demo.public).set('management', demo.management).set('provider', demo.provider);
  variables.set('key', demo.key).set('bare', bare.public);
  const answers = new Map();
  const wrong = [];
  try {
    for (const one of requests) {
      const found = await check(one, variables, answers);
      const wanted = `${one.status}${one.word ? ` ${one.word}` : ''}`;
      if (found !== wanted) wrong.push(`${one.method} ${one.url} (${one.title}): ${found}, wanted ${wanted}`);
    }
  } finally {
    await Promise.all([demo.stop(), bare.remove()]);
  }
  console.log(
    `  ${requests.length} requests, ${new Set(requests.map(({ word }) => word).filter(Boolean)).size} error words`,
  );
  expect(wrong, [], 'answers that are different');
}

async function every_operation_of_the_document_is_there() {
  const { requests } = parsed();
  const sent = requests.filter(({ status }) => status === 200).map(({ method, url }) => [method, url.split('?')[0]]);
  const missing = [];
  for (const [path, methods] of Object.entries(JSON.parse(page('openapi.json')).paths)) {
    for (const [method, operation] of Object.entries(methods).filter(([, { responses }]) => responses)) {
      const listener = operation.tags.includes('public') ? 'public' : 'management';
      const segments = path.replace(/\{\w+\}/g, '(\\{\\{[^/]+\\}\\}|[^/]+)');
      const pattern = new RegExp(`^\\{\\{${listener}\\}\\}${segments}$`);
      const isThere = sent.some(([verb, url]) => verb === method.toUpperCase() && pattern.test(url));
      if (!isThere) missing.push(`${method.toUpperCase()} ${path}`);
    }
  }
  expect(missing, [], 'operations without a request');
}

async function every_error_word_is_provoked_or_its_absence_explained() {
  const { requests } = parsed();
  const provoked = new Set(requests.map(({ word }) => word));
  const explained = new Set([...text.matchAll(/^# {3}([a-z_]+) {2,}\S/gm)].map(([, word]) => word));
  const words = [...(page('api.md') + page('management.md')).matchAll(/^\| \d{3} \| `([a-z_]+)` \|/gm)].map(
    ([, word]) => word,
  );
  expect(words.length > 20, true, 'the tables of errors are found');
  expect(
    words.filter((word) => !provoked.has(word) && !explained.has(word)),
    [],
    'words that are missing',
  );
  expect(
    [...explained].filter((word) => provoked.has(word) || !words.includes(word)),
    [],
    'words explained for nothing',
  );
}

await main([
  every_operation_of_the_document_is_there,
  every_error_word_is_provoked_or_its_absence_explained,
  every_request_is_answered_as_the_comment_beside_it_says,
]);
