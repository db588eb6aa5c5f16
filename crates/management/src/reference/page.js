"use strict";
(() => {
  /** Creates an element with attributes and children; text becomes text, never markup. */
  const make = (name, attributes = {}, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return element;
  };

  /** Inserts line break opportunities after punctuation. */
  const breakable = (text) => text.split(/(?<=[/._|,:?&=}-])(?=.)/).flatMap((part, place) => (place ? [make("wbr"), part] : [part]));

  const code = (text) => make("code", {}, breakable(text));

  /** Renders text in which backticks mark code. */
  const prose = (text) => (text ?? "").split("`").map((part, place) => (place % 2 ? code(part) : part));

  const json = (value) => make("pre", { tabindex: "0" }, make("code", {}, JSON.stringify(value, null, 2)));

  const nameOf = (reference) => reference.split("/").pop();

  /** Resolves a reference; returns anything else as it is. */
  const resolved = (api, part) =>
    part?.$ref ? part.$ref.slice(2).split("/").reduce((inner, name) => inner[name], api) : part;

  const schemaLink = (reference) => make("a", { href: `#schema-${nameOf(reference)}` }, nameOf(reference));

  /** Summarises the limits of a schema. */
  const limits = (schema) => {
    const words = [];
    const say = (key, text) => schema[key] !== undefined && words.push(`${text} ${schema[key]}`);
    say("minimum", "from");
    say("maximum", "to");
    say("exclusiveMaximum", "below");
    say("minLength", "at least");
    say("maxLength", "characters at most");
    say("minItems", "items at least");
    say("maxItems", "items at most");
    say("maxProperties", "entries at most");
    return words.join(", ");
  };

  /** Renders a schema in one line. */
  const brief = (schema) => {
    if (!schema) return ["anything"];
    if (schema.$ref) return [schemaLink(schema.$ref)];
    if (schema.oneOf) return schema.oneOf.flatMap((one, place) => (place ? [" or ", ...brief(one)] : brief(one)));
    if (schema.enum) return schema.enum.flatMap((one, place) => [place ? " | " : "", code(JSON.stringify(one))]);
    const type = [schema.type ?? "anything"].flat().join(" or ");
    if (type === "array") return ["list of ", ...brief(schema.items)];
    if (type === "object" && schema.additionalProperties?.$ref) return ["map to ", ...brief(schema.additionalProperties)];
    return [schema.format ? `${type} (${schema.format})` : type];
  };

  /** Returns the rows of an object's properties, including nested ones. */
  const rows = (schema, prefix = "") =>
    Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
      const required = (schema.required ?? []).includes(name);
      const details = [limits(property), property.pattern && property.pattern.length < 60 ? `matches ${property.pattern}` : ""];
      const row = make("tr", {},
        make("td", {}, code(prefix + name), required ? "" : make("span", { class: "quiet" }, " optional"),
          property.deprecated ? make("span", { class: "quiet" }, " deprecated") : ""),
        make("td", {}, brief(property)),
        make("td", {}, make("p", {}, prose(property.description)),
          make("p", { class: "quiet" }, details.filter(Boolean).join("; "))));
      return [row, ...rows(property, `${prefix}${name}.`)];
    });

  const table = (heads, body) =>
    make("div", { class: "scroll" }, make("table", {},
      make("thead", {}, make("tr", {}, heads.map((head) => make("th", { scope: "col" }, head)))),
      make("tbody", {}, body)));

  const shape = (schema) => {
    const found = rows(schema);
    if (found.length) return table(["Field", "Type", ""], found);
    const more = [limits(schema), schema.pattern ? `matches ${schema.pattern}` : ""].filter(Boolean).join("; ");
    return make("p", {}, brief(schema), more ? make("span", { class: "quiet" }, ` ${more}`) : "");
  };

  /** Unwraps the envelope that all responses share. */
  const inside = (schema) => schema?.properties?.data ?? schema;

  const parameters = (operation) => {
    const body = operation.parameters.map((parameter) =>
      make("tr", {},
        make("td", {}, code(parameter.name), parameter.required ? "" : make("span", { class: "quiet" }, " optional")),
        make("td", {}, parameter.in), make("td", {}, brief(parameter.schema)),
        make("td", {}, make("p", {}, prose(parameter.description)), make("p", { class: "quiet" }, limits(parameter.schema)))));
    return body.length ? [make("h4", {}, "Parameters"), table(["Name", "In", "Type", ""], body)] : [];
  };

  const request = (operation) => {
    if (!operation.requestBody) return [];
    const contents = Object.entries(operation.requestBody.content);
    const [, first] = contents[0];
    const types = contents.flatMap(([type], place) => [place ? ", " : "", code(type)]);
    return [make("h4", {}, "Body"), make("p", {}, prose(operation.requestBody.description)),
      make("p", {}, brief(first.schema), " as ", types), first.example ? json(first.example) : null];
  };

  const responses = (api, operation) =>
    [make("h4", {}, "Answers"), ...Object.entries(operation.responses).map(([status, response]) => {
      response = resolved(api, response);
      const content = Object.entries(response.content ?? {});
      const headers = Object.keys(response.headers ?? {});
      const body = content.flatMap(([type, { schema, examples }]) => {
        const inner = inside(schema);
        const what = make("p", {}, code(type), inner === schema ? " " : " with data: ", brief(inner));
        const error = Object.values(examples ?? {}).map(({ value }) => json(value));
        return [what, ...(inner?.$ref || !inner?.properties ? [] : [shape(inner)]), ...error];
      });
      return make("details", {}, make("summary", {}, make("strong", {}, status), " ", prose(response.description)),
        make("div", {}, body, headers.length ? make("p", { class: "quiet" }, `Headers: ${headers.join(", ")}`) : null));
    })];

  const schemes = (operation) => (operation.security ?? []).flatMap((requirement) => Object.keys(requirement));

  /** Returns an example value of a parameter. */
  const example = (api, { name, schema }) => resolved(api, schema)?.examples?.[0] ?? name.toUpperCase();

  /** Renders the operation as a curl command. */
  const shellLine = (api, { path, method, operation, address }) => {
    const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
    const needed = (place) => operation.parameters.filter((parameter) => parameter.in === place && parameter.required);
    const filled = needed("path").reduce((text, one) => text.replace(`{${one.name}}`, example(api, one)), path);
    const query = needed("query").map((one) => `${one.name}=${example(api, one)}`).join("&");
    const headers = needed("header").map((one) => `${one.name}: ${example(api, one)}`);
    if (schemes(operation).includes("ManagementKey")) headers.unshift("Authorization: Bearer KEY");
    const body = Object.values(operation.requestBody?.content ?? {})[0]?.example;
    return ["curl", ...(method === "get" ? [] : ["-X", method.toUpperCase()]), quote(address + filled + (query && `?${query}`)),
      ...headers.flatMap((header) => ["-H", quote(header)]), ...(body ? ["-d", quote(JSON.stringify(body))] : [])].join(" ");
  };

  const security = (operation) => {
    const names = schemes(operation);
    return make("p", { class: "quiet" }, names.length ? `Needs ${names.join(" and ")}.` : "Needs no credentials.");
  };

  const article = (api, it) => {
    const { path, method, operation, server } = it;
    return make("article", { id: operation.operationId, tabindex: "-1" },
      make("h3", {}, make("span", { class: `method ${method}` }, method.toUpperCase()), " ", code(path)),
      make("p", {}, make("strong", {}, operation.summary)),
      operation.description ? make("p", {}, prose(operation.description)) : null,
      security(operation), make("p", { class: "quiet" }, server),
      make("pre", { tabindex: "0" }, make("code", {}, shellLine(api, it))),
      parameters(operation), request(operation), responses(api, operation));
  };

  const operationsOf = (api) =>
    Object.entries(api.paths).flatMap(([path, item]) =>
      Object.entries(item).filter(([, part]) => part.operationId).map(([method, part]) => {
        const operation = { ...part, parameters: (part.parameters ?? []).map((one) => resolved(api, one)) };
        const { url, variables, description } = (item.servers ?? api.servers)[0];
        const address = url.replace("{address}", variables?.address?.default ?? "");
        return { path, method, operation, address, group: operation.tags.at(-1), server: `${description} Default: ${address}` };
      }));

  const entry = (target, label, words) =>
    make("li", { "data-words": words.toLowerCase(), "data-target": target }, make("a", { href: `#${target}` }, label));

  const draw = (api) => {
    const main = document.getElementById("main");
    const list = document.getElementById("list");
    document.getElementById("version").textContent = api.info.version;
    document.getElementById("description").append(...prose(api.info.description));
    const operations = operationsOf(api);
    for (const group of new Set(operations.map((operation) => operation.group))) {
      const members = operations.filter((operation) => operation.group === group);
      const about = api.tags.find((tag) => tag.name === group)?.description;
      main.append(make("h2", { id: `group-${group}` }, group), make("p", { class: "quiet" }, prose(about)),
        ...members.map((member) => article(api, member)));
      list.append(make("section", {}, make("h2", {}, group), make("ul", {}, members.map(({ path, method, operation }) =>
        entry(operation.operationId, [make("span", { class: `method ${method}` }, method.toUpperCase()), make("span", {}, breakable(path))],
          `${method} ${path} ${operation.summary} ${operation.operationId} ${group}`)))));
    }
    const schemas = Object.entries(api.components.schemas);
    main.append(make("h2", { id: "group-schemas" }, "Schemas"), ...schemas.map(([name, schema]) =>
      make("article", { id: `schema-${name}`, tabindex: "-1" }, make("h3", {}, name), make("p", {}, prose(schema.description)), shape(schema))));
    list.append(make("section", {}, make("h2", {}, "Schemas"), make("ul", {},
      schemas.map(([name]) => entry(`schema-${name}`, [name], `schema ${name}`)))));
  };

  /** Returns the first article that matches the filter. */
  const firstShown = () => document.querySelector("article:not([hidden])");

  /** Hides entries that lack a word of the filter, in the list and on the page, and scrolls to the first match. */
  const filter = () => {
    const words = document.getElementById("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    for (const item of document.querySelectorAll("li[data-target]")) {
      const shown = words.every((word) => item.dataset.words.includes(word));
      item.hidden = !shown;
      document.getElementById(item.dataset.target).hidden = !shown;
      found += shown ? 1 : 0;
    }
    for (const section of document.querySelectorAll("#list section")) {
      section.hidden = !section.querySelector("li:not([hidden])");
    }
    document.getElementById("found").textContent = words.length ? `${found} found` : "";
    for (const heading of document.querySelectorAll("main > h2, main > h2 + p")) heading.hidden = words.length > 0;
    document.querySelector("article.first")?.classList.remove("first");
    if (words.length) {
      firstShown()?.classList.add("first");
      firstShown()?.scrollIntoView({ behavior: "instant" });
    }
  };

  /** Moves from the filter to the first match. */
  const land = (event) => {
    event.preventDefault();
    const first = firstShown();
    if (first) history.replaceState(null, "", `#${first.id}`);
    first?.scrollIntoView({ behavior: "instant" });
    first?.focus({ preventScroll: true });
  };

  /** Clears the filter if it hides the target of a link. */
  const reveal = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target?.hidden) {
      document.getElementById("filter").value = "";
      filter();
    }
    target?.scrollIntoView();
  };

  fetch("/openapi.json")
    .then((answer) => answer.json())
    .then((api) => {
      draw(api);
      document.getElementById("filter").addEventListener("input", filter);
      document.getElementById("search").addEventListener("submit", land);
      addEventListener("hashchange", reveal);
      if (location.hash) reveal();
    })
    .catch((error) => document.getElementById("main").append(make("p", { role: "alert" }, `The document could not be read: ${error}`)));
})();
