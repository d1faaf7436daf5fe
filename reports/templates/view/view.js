"use strict";
/* Shared by the views of a page: the data, decoded on demand, and the current choices. */
const by = (id) => document.getElementById(id);
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

function create(tag, text, className) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
}

const decimals = (value, count = 3) => value.toFixed(count).replace("-", "−");

/* Fill a table anew with column names and finished rows. */
function fillTable(table, names, rows, className) {
  const titles = create("tr");
  titles.append(...names.map((name, place) => Object.assign(create("th", name, place ? className : undefined), { scope: "col" })));
  const [top, body] = [create("thead"), create("tbody")];
  top.append(titles);
  body.append(...rows);
  table.replaceChildren(top, body);
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

function focusOne(elements, place) {
  for (const [other, element] of elements.entries()) element.tabIndex = other === place ? 0 : -1;
  elements[place]?.focus();
}

function resolveColour(tone, element = document.body) {
  const probe = create("span");
  probe.style.color = tone;
  element.append(probe);
  const numbers = getComputedStyle(probe).color.match(/[\d.]+/gu).slice(0, 3).map(Number);
  probe.remove();
  return numbers;
}
