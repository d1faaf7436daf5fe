"use strict";
/* Shared by the other scripts: the findings, numbers as text, elements made without markup. */
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const findings = read("findings-columns");
const perSieve = findings.layers.length * findings.heads;
const rowCount = perSieve * findings.sieves.length;

function bytes(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

/* A column is stored per row, or once per sieve when it is the same for all heads. */
function column(name) {
  const stored = new Float64Array(bytes(findings.columns[name]).buffer);
  if (stored.length === rowCount) return stored;
  return Float64Array.from({ length: rowCount }, (_, row) => stored[Math.floor(row / perSieve)]);
}

const columns = Object.fromEntries([...findings.names, ...findings.precision].map((name) => [name, column(name)]));
const hasNumbers = (name) => name in columns && columns[name].some((number) => !Number.isNaN(number));
/* Ends of the interval of the mean itself: "low" and "high" are of its difference from chance, laid around it. */
const ENDS = "mean_low" in columns ? ["mean_low", "mean_high"] : ["low", "high"];
/* What the page shows of decisions may be verdicts of its own; files have those of the tests. */
const tested = bytes(findings.decision);
const decisions = findings.shown ? bytes(findings.shown) : tested;
const WORDS = findings.words;
const rowOf = (role, cell) => role.sieve * perSieve + cell;
const placeOf = (row) => ({
  sieve: Math.floor(row / perSieve),
  layer: layerAt(row % perSieve),
  head: row % findings.heads,
});

/* Heads are counted layer by layer, over the layers that are read; names have the layer's position in the model. */
const layerAt = (cell) => findings.layers[Math.floor(cell / findings.heads)];
const headName = (cell) => `${layerAt(cell)}-${cell % findings.heads}`;
const titleOf = (cell) => `Layer ${layerAt(cell)}, head ${cell % findings.heads}`;
/* The number of a head by its name; −1 for none. */
function cellNamed(layer, head) {
  const place = findings.layers.indexOf(Number(layer));
  return place >= 0 && Number(head) < findings.heads ? place * findings.heads + Number(head) : -1;
}

/* Three significant digits, as in the words of the page. */
function shortNumber(value) {
  if (Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = size >= 1e5 || size < 1e-3 ? size.toExponential(1) : String(Number(size.toPrecision(3)));
  return (value < 0 ? "−" : "") + text;
}

/* A typed number, with a point or a comma; NaN for an empty or missing field. */
const typedNumber = (field) => Number.parseFloat((field?.value ?? "").replace(",", "."));

/* Columns on the scale of the score line up at three decimals; the files have every digit. */
const DECIMALS = { cells: 1, statistic: 2, mean: 3, mean_a: 3, mean_b: 3, difference: 3, null: 3, effect: 3, low: 3, high: 3, mean_low: 3, mean_high: 3,
  hedges_g: 2, g_low: 2, g_high: 2, detectable: 2, design_effect: 2, stability: 2, prevalence: 2 };
for (const name of findings.fine ?? []) delete DECIMALS[name];
function cellText(name, row) {
  const number = columns[name][row];
  if (!(name in DECIMALS) || !(Math.abs(number) < 1e5)) return shortNumber(number);
  return number.toFixed(DECIMALS[name]).replace("-", "−");
}

/* Sort rows by a key: those without a number come last in either direction; equal rows keep their order. */
function sortRows(rows, key, direction) {
  return rows.sort((one, other) => {
    const [first, second] = [key(one), key(other)];
    if (Number.isNaN(first) || Number.isNaN(second)) return Number.isNaN(first) - Number.isNaN(second) || one - other;
    return direction * (first - second) || one - other;
  });
}

function create(tag, text, className) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
}

/* An element of a drawing. */
function shape(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function createIsolated(tag, text) {
  const element = create(tag);
  element.append(create("bdi", text));
  return element;
}
