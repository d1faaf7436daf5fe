/* Shared by the views of a page: the data, decoded on demand, and the current choices. */
const by = (id) => document.getElementById(id);
const { html, svg, isolate } = attention;
const content = JSON.parse(by("view-data").textContent);
for (const maps of content.maps) maps.keys ??= maps.queries;
const MOST_HELD = 96 * 2 ** 20;
const cache = new Map();

const [firstKind, firstLayer, firstHead, firstRole] = content.opening;

const chosen = {
  kind: firstKind,
  layer: firstLayer,
  heads: new Set([firstHead]),
  keys: null,
  order: "number",
  only: null,
  form: "lines",
  level: "pieces",
  specials: true,
  sink: true,
  from: "all",
  to: "all",
};

const mapsNow = () => content.maps[chosen.kind];
const toneOf = (head) => `var(--tone-${head % 8})`;
const settingsNow = () => {
  const { form, level, specials, sink, from, to, only } = chosen;
  return { form, level, specials, sink, from, to, only, ...roles.settings() };
};

/* Decoded bytes are kept until there are too many; the least recently used go first. */
async function bytesOf(name, text) {
  const known = cache.get(name);
  cache.delete(name);
  const bytes = known ?? await attention.unpack(text);
  cache.set(name, bytes);
  let size = [...cache.values()].reduce((sum, each) => sum + each.length, 0);
  for (const [old, each] of cache) {
    if (size <= MOST_HELD || old === name) break;
    cache.delete(old);
    size -= each.length;
  }
  return bytes;
}

/* Weights of all heads of a layer; of one head of them. */
const layerOf = (layer, kind = chosen.kind) => bytesOf(`${kind} weights ${layer}`, content.maps[kind].weights[layer]);
/* The same without waiting, where it is decoded already: printing does not wait. */
const layerHeld = (layer) => cache.get(`${chosen.kind} weights ${layer}`);
function headOf(bytes, head, maps = mapsNow()) {
  const size = maps.queries.pieces.length * maps.keys.pieces.length;
  return bytes.subarray(head * size, (head + 1) * size);
}

/* 16-bit floats, as numpy writes them, to 32-bit ones. */
function halvesOf(bytes) {
  const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float32Array.from({ length: bytes.byteLength / 2 }, (_, place) => {
    const word = words.getUint16(2 * place, true);
    const [exponent, fraction] = [(word >> 10) & 31, (word & 1023) / 1024];
    return (word & 32768 ? -1 : 1) * (exponent ? 2 ** (exponent - 15) * (1 + fraction) : 2 ** -14 * fraction);
  });
}

const decimals = (value, count = 3) => value.toFixed(count).replace("-", "−");

/* A row of a table: its heading and its cells, each a text, an element or a list of those. */
const tableRow = (heading, cells, look) => (
  html("tr", {}, html("th", { scope: "row" }, heading), cells.map((content) => html("td", { class: look }, content)))
);

/* Fill a table anew with column names ("" for none) and finished rows. */
function fillTable(table, names, rows, look) {
  const titles = names.map((name, place) => (name === "" ? html("td", {}) : html("th", { scope: "col", class: place ? look : undefined }, String(name))));
  table.replaceChildren(...(table.caption ? [table.caption] : []), html("thead", {}, html("tr", {}, titles)), html("tbody", {}, rows));
}

function options(select, numbers, place) {
  select.replaceChildren(...numbers.map((number, index) => new Option(String(number), String(index), false, index === place)));
}

/* One of many elements takes the focus at a time: arrow keys move within `columns`, Home and End along a row. */
function roving(elements, event, columns) {
  const place = elements.indexOf(event.target.closest("[tabindex], button"));
  if (place < 0) return;
  const row = Math.floor(place / columns) * columns;
  const to = {
    ArrowLeft: place - 1, ArrowRight: place + 1, ArrowUp: place - columns, ArrowDown: place + columns,
    Home: row, End: Math.min(row + columns, elements.length) - 1,
  }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  if (to < 0 || to >= elements.length || (event.key.startsWith("Arrow") && columns > 1 && /Left|Right/u.test(event.key) && (to < row || to >= row + columns))) return;
  focusOne(elements, to);
}

function takeTab(elements, place) {
  for (const [other, element] of elements.entries()) element.tabIndex = other === place ? 0 : -1;
}

function focusOne(elements, place) {
  takeTab(elements, place);
  elements[place]?.focus();
}

function resolveColour(tone, element = document.body) {
  const probe = html("span", {});
  probe.style.color = tone;
  element.append(probe);
  const numbers = getComputedStyle(probe).color.match(/[\d.]+/gu).slice(0, 3).map(Number);
  probe.remove();
  return numbers;
}

/* The roles that a run found in the heads, and the keys of a role on this input. Without a run, there are none. */
const roles = (() => {
  const data = content.roles;
  const cellOf = (layer, head) => layer * content.maps[data.kind].heads.length + head;
  const known = () => data !== null && chosen.kind === data.kind;
  const all = data ? [...data.names.keys()] : [];
  const counts = all.map((role) => [...data.drawn[role]].filter((held) => held === "1").length);
  /* The rarest role first: it says most about a head. */
  const rarest = [...all].sort((one, other) => counts[one] - counts[other] || one - other);

  const of = (layer, head) => (known() ? rarest.filter((role) => data.drawn[role][cellOf(layer, head)] === "1") : []);

  const chip = (role, tone = data.tones[role]) => html("i", { class: `chip tone-${tone}`, "aria-hidden": "true" }, data.marks[role]);

  const titles = (layer, head) => of(layer, head).map((role) => data.titles[role]);

  /* A line for every role of a head, and for every score that something else explains. */
  function lines(layer, head) {
    if (!known()) return [];
    const cell = cellOf(layer, head);
    const told = rarest.filter((role) => data.drawn[role][cell] === "1" || data.decision[role][cell] === "4");
    told.sort((one, other) => Number(data.decision[one][cell]) - Number(data.decision[other][cell]));
    return told.map((role) => {
      const mean = data.mean[role][cell];
      return { role, title: data.titles[role], text: `${data.words[role][data.decision[role][cell]]}${mean === null ? "" : `, mean ${decimals(mean, 2)}`}` };
    });
  }

  const text = (layer, head) => lines(layer, head).map(({ title, text: words }) => `${title}: ${words}`).join("\n");

  /* The rarest role of a head, null for none, and the mean of its score. */
  const first = (layer, head) => of(layer, head)[0] ?? null;
  const strength = (layer, head) => data.mean[first(layer, head)]?.[cellOf(layer, head)] ?? 0;

  /* Every head once, under its rarest role, the strongest first; heads without a role come last. */
  function groups() {
    const { layers, heads } = mapsNow();
    const found = new Map([...rarest, null].map((role) => [role, []]));
    layers.forEach((_, layer) => heads.forEach((__, head) => found.get(first(layer, head)).push([layer, head])));
    for (const cells of found.values()) cells.sort((one, other) => strength(...other) - strength(...one));
    return [...found].filter(([, cells]) => cells.length).map(([role, cells]) => ({ role, cells, title: role === null ? "no role" : data.titles[role] }));
  }

  /* The heads of a layer in the order that is chosen. */
  function ordered(layer) {
    const places = [...mapsNow().heads.keys()];
    if (chosen.order !== "role" || !known()) return places;
    const rank = (head) => [...rarest, null].indexOf(first(layer, head));
    return places.sort((one, other) => rank(one) - rank(other) || strength(layer, other) - strength(layer, one) || one - other);
  }

  /* One number per (query, key): 1 where the sieve counts it; null where no role is chosen. */
  let decoded = { role: null, own: null };
  async function load(role) {
    if (role === null || decoded.role === role) return;
    const { queries, keys } = content.maps[data.kind];
    decoded = { role, own: await attention.unpackBits(data.keys[role], queries.pieces.length * keys.pieces.length) };
  }

  const shown = () => known() && chosen.keys !== null && decoded.role === chosen.keys;
  const settings = () => (shown() ? { own: decoded.own, tone: `var(--tone-${data.key_tones[chosen.keys]})` } : { own: null });

  /* Whether some keys of the role are special tokens, which have to be shown for it. */
  const special = () => shown() && decoded.own.some((own, cell) => own && mapsNow().keys.special[cell % mapsNow().keys.pieces.length]);

  function key() {
    const host = by("view-keys-key");
    host.hidden = !shown();
    if (host.hidden) return;
    const count = decoded.own.reduce((sum, own) => sum + own, 0);
    const words = count ? "keys of this role; other keys are grey" : "this input has no keys of this role, so all are grey";
    host.replaceChildren(chip(chosen.keys, data.key_tones[chosen.keys]), ` ${data.titles[chosen.keys]}: ${words}`);
  }

  function choices() {
    const select = by("view-keys");
    if (!select) return;
    select.replaceChildren(new Option("no role", ""), ...all.map((role) => {
      const option = new Option(`${data.marks[role]} · ${data.titles[role]}`, String(role));
      option.disabled = data.keys[role] === null;
      return option;
    }));
  }

  return { coloured: shown, known, of, chip, choices, titles, lines, text, groups, ordered, load, settings, special, key, hasKeys: (role) => data !== null && role !== null && data.keys[role] !== null };
})();
