/**
 * Writes the types of docs/openapi.json into the marked section of companion.ts.
 *
 *     node docs/kits/tests/generate-types.mjs          # writes
 *     node docs/kits/tests/generate-types.mjs --check  # only says whether it is up to date
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const DOCUMENT = fileURLToPath(new URL('../../openapi.json', import.meta.url));
const CLIENT = fileURLToPath(new URL('../companion.ts', import.meta.url));
const BEGIN = '// Generated from docs/openapi.json by docs/kits/tests/generate-types.mjs: do not edit.\n';
const END = '// End of what is generated.\n';

/** The client as it should be for a document. @param {string} client @param {any} document */
export function withTypes(client, document) {
  const [before, rest] = client.split(BEGIN);
  const after = rest?.split(END)[1];
  if (after === undefined) throw new Error('companion.ts lacks the marks of its generated section');
  return before + BEGIN + generated(document) + END + after;
}

function generated(document) {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => operation.responses) // a path also says where it is served
      .map(([method, operation]) => describe(document, path, method, operation)),
  );
  const words = [...new Set(operations.flatMap(({ errors }) => errors))].sort();
  return [
    ...Object.entries(document.components.schemas).map(([name, schema]) => declaration(name, schema)),
    `/** What went wrong, in a word for programs. */\nexport type ErrorWord =${union(words.map(quoted))};\n`,
    `/** Each operation of both APIs: what it takes, what it gives, and the words of its errors. */`,
    `export interface Operations {\n${operations.map(operationType).join('')}}\n`,
    `/** Method, path, listener, and where each parameter goes. */`,
    `const OPERATIONS = {\n${operations.map(operationRow).join('')}} as const;\n`,
  ].join('\n');
}

function describe(document, path, method, operation) {
  const parameters = (operation.parameters ?? [])
    .map((parameter) => resolved(document, parameter))
    // Every request may carry an id, and tags are a matter between fetch and its cache.
    .filter(({ name }) => name !== 'X-Request-Id' && name !== 'If-None-Match');
  const answers = Object.entries(operation.responses).map(([status, answer]) => [status, resolved(document, answer)]);
  return {
    id: operation.operationId,
    summary: operation.summary,
    method: method.toUpperCase(),
    path,
    listener: operation.tags.includes('public') ? 'public' : 'management',
    parameters,
    body: bodyType(operation.requestBody),
    data: dataType(answers.find(([status]) => status === '200')[1]),
    errors: [...new Set(answers.filter(([status]) => status >= '400').flatMap(([, answer]) => wordsOf(answer)))].sort(),
  };
}

function bodyType(body) {
  if (!body) return undefined;
  const type = typeOf(Object.values(body.content)[0].schema);
  return body.description?.includes('newline-delimited') ? `Iterable<${type}>` : type;
}

/** The type of `data`; answers that are no envelope are text, or the document itself. */
function dataType(answer) {
  const json = answer.content?.['application/json']?.schema;
  if (!json) return 'string';
  return json.properties?.data ? typeOf(json.properties.data) : 'Record<string, unknown>';
}

function wordsOf(answer) {
  const schema = answer.content?.['application/json']?.schema;
  const shapes = schema?.oneOf ?? (schema ? [schema] : []);
  return shapes.flatMap((shape) =>
    dataShapes(shape.properties?.data).flatMap((data) => data.properties?.error?.enum ?? []),
  );
}

function dataShapes(data) {
  return data?.oneOf ?? (data ? [data] : []);
}

function operationType({ id, summary, parameters, body, data, errors }) {
  const fields = parameters.map(
    ({ name, required, schema }) => `${quoted(name)}${required ? '' : '?'}: ${typeOf(schema)}`,
  );
  if (body) fields.push(`body: ${body}`);
  const input = fields.length ? `{ ${fields.join('; ')} }` : 'Record<never, never>';
  const lines = [`input: ${input};`, `data: ${data};`, `errors:${union(errors.map(quoted), 6)};`];
  return `  /** ${summary}. */\n  ${id}: {\n${lines.map((line) => `    ${line}\n`).join('')}  };\n`;
}

function operationRow({ id, method, path, listener, parameters, body }) {
  const places = Object.fromEntries(parameters.map(({ name, in: place }) => [name, place]));
  const form = !body ? 'none' : body.startsWith('Iterable<') ? 'lines' : 'json';
  const fields = Object.entries({ method, path, listener, body: form }).map(([name, value]) => `${name}: '${value}'`);
  return `  ${id}: { ${fields.join(', ')}, places: ${JSON.stringify(places)} },\n`;
}

function declaration(name, schema) {
  return `${comment(schema, '')}export type ${name} = ${typeOf(schema)};\n`;
}

function typeOf(schema, indent = '') {
  if (schema.$ref) return schema.$ref.split('/').at(-1);
  if (schema.enum) return schema.enum.map(literal).join(' | ');
  const variants = schema.oneOf ?? schema.anyOf;
  if (variants) return variants.map((variant) => typeOf(variant, indent)).join(' | ');
  if (schema.allOf) return schema.allOf.map((part) => typeOf(part, indent)).join(' & ');
  if (Array.isArray(schema.type)) return schema.type.map((type) => typeOf({ ...schema, type }, indent)).join(' | ');
  if (schema.type === 'array') return `Array<${typeOf(schema.items ?? {}, indent)}>`;
  if (schema.type === 'object') return objectType(schema, indent);
  return (
    { string: 'string', integer: 'number', number: 'number', boolean: 'boolean', null: 'null' }[schema.type] ??
    'unknown'
  );
}

function objectType(schema, indent) {
  const deeper = `${indent}  `;
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => {
    const mark = schema.required?.includes(name) ? '' : '?';
    return `${comment(field, deeper)}${deeper}${fieldName(name)}${mark}: ${typeOf(field, deeper)};\n`;
  });
  if (fields.length) return `{\n${fields.join('')}${indent}}`;
  if (typeof schema.additionalProperties === 'object') {
    return `Record<string, ${typeOf(schema.additionalProperties, indent)}>`;
  }
  return 'Record<string, never>';
}

function comment({ description, deprecated }, indent) {
  const text = [description, deprecated && '@deprecated'].filter(Boolean).join(' ').replaceAll('*/', '* /');
  return text ? `${indent}/** ${text} */\n` : '';
}

function resolved(document, value) {
  if (!value.$ref) return value;
  return value.$ref
    .slice(2)
    .split('/')
    .reduce((place, name) => place[name], document);
}

const union = (types, indent = 2) =>
  types.length ? types.map((type) => `\n${' '.repeat(indent)}| ${type}`).join('') : ' never';
const quoted = (text) => `'${text}'`;
const literal = (value) => (typeof value === 'string' ? quoted(value) : String(value));
const fieldName = (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name));

/** Whether companion.ts is what the document asks for. */
export function isUpToDate() {
  const client = readFileSync(CLIENT, 'utf8');
  return withTypes(client, JSON.parse(readFileSync(DOCUMENT, 'utf8'))) === client;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes('--check')) {
    console.log(isUpToDate() ? 'companion.ts is up to date' : 'companion.ts is behind docs/openapi.json');
    process.exit(isUpToDate() ? 0 : 1);
  }
  writeFileSync(CLIENT, withTypes(readFileSync(CLIENT, 'utf8'), JSON.parse(readFileSync(DOCUMENT, 'utf8'))));
}
