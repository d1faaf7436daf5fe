/* Every page of a run: what it is about, its numbers as text, its frame, its figures, its files and its sorted tables. */
const read = (id) => JSON.parse(by(id).textContent);
const findings = read("findings-columns");
const perSieve = findings.layers.length * findings.heads;
const rowCount = perSieve * findings.sieves.length;
/* All heads by number. */
const every = Array.from({ length: perSieve }, (_, cell) => cell);

/* A column is stored per row, or once per sieve when it is the same for all heads. */
function column(name) {
  const stored = new Float64Array(bytes(findings.columns[name]).buffer);
  return stored.length === rowCount ? stored : Float64Array.from({ length: rowCount }, (_, row) => stored[Math.floor(row / perSieve)]);
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
const holds = (role, cell) => decisions[rowOf(role, cell)] === 0;
const placeOf = (row) => ({ sieve: Math.floor(row / perSieve), layer: layerAt(row % perSieve), head: row % findings.heads });

/* Heads are counted layer by layer, over the layers that are read; names have the layer's position in the model. */
const layerAt = (cell) => findings.layers[Math.floor(cell / findings.heads)];
const headName = (cell) => `${layerAt(cell)}-${cell % findings.heads}`;
const titleOf = (cell) => `Layer ${layerAt(cell)}, head ${cell % findings.heads}`;
/* The number of a head by its name; −1 for none. */
function cellNamed(layer, head) {
  const place = findings.layers.indexOf(Number(layer));
  return place >= 0 && Number(head) < findings.heads ? place * findings.heads + Number(head) : -1;
}
/* A link to a head, and the head that the address names. */
const linkTo = (cell) => html("a", { href: `#head-${headName(cell)}` }, headName(cell));
const addressed = () => cellNamed(...(/^#head-(\d+)-(\d+)$/.exec(location.hash) ?? []).slice(1));

const signed = (text) => text.replace("-", "−");
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
  return name in DECIMALS && Math.abs(number) < 1e5 ? signed(number.toFixed(DECIMALS[name])) : shortNumber(number);
}

/* Sort rows by a key: those without a number come last in either direction; equal rows keep their order. */
function sortRows(rows, key, direction) {
  return rows.sort((one, other) => {
    const [first, second] = [key(one), key(other)];
    if (Number.isNaN(first) || Number.isNaN(second)) return Number.isNaN(first) - Number.isNaN(second) || one - other;
    return direction * (first - second) || one - other;
  });
}

/* Words of a search; a word that ends in a digit is a whole one, so that 2-1 is not 2-11. */
const termsOf = (field) => field.value.toLowerCase().split(/\s+/).filter(Boolean);
const isFound = (terms, text) => terms.every((term) => text.includes(/\d$/.test(term) ? ` ${term} ` : term));

/* Say by which column a table is sorted. */
function markSorted(table, heading, direction) {
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading?.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
}

/* A link into a closed fold opens it. */
function openFolds(target) {
  for (let fold = target?.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
}

/* Say which link is current. */
function markLink(links, isCurrent) {
  links.forEach((link, number) => {
    if (isCurrent(link, number)) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  });
}

/* The section in view is marked, and folds open for their links. */
{
  const links = [...document.querySelectorAll(".rail > ul a")];
  const targets = links.map((link) => by(link.hash.slice(1)));
  const mark = () => {
    const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
    let place = 0;
    targets.forEach((target, number) => { if (target && (atEnd || target.getBoundingClientRect().top <= innerHeight / 3)) place = number; });
    markLink(links, (_, number) => number === place);
  };
  let waiting = false;
  addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; mark(); });
  }, { passive: true });
  const follow = () => openFolds(by(decodeURIComponent(location.hash.slice(1))));
  addEventListener("hashchange", follow);
  follow();
  if (links.length) mark();
}

/* What the page is filtered by: a role and a decision from a sentence of the answer; null for nothing.
   Listeners of "filter" on the document get it as the detail of the event. */
{
  const links = [...document.querySelectorAll("a[data-filter]")];
  const line = by("filtered");
  const parse = (hash) => {
    const [, sieve, decision] = /^#filter=([^,]*),([^,]+)$/.exec(hash) ?? [];
    return decision ? { sieve: decodeURIComponent(sieve), decision } : null;
  };
  const set = (hash) => {
    const value = parse(hash);
    markLink(links, (link) => value && link.hash === hash);
    const text = links.find((other) => other.hash === hash)?.textContent ?? `${value?.sieve} · ${value?.decision}`;
    line.hidden = !value;
    if (value) line.firstElementChild.textContent = `Shown: ${text}`;
    document.dispatchEvent(new CustomEvent("filter", { detail: value }));
  };
  const change = (hash) => { setHash(hash); set(hash); };
  const follow = () => { if (parse(location.hash)) set(location.hash); };
  for (const link of links) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      change(link.hasAttribute("aria-current") ? "" : link.hash);
    });
  }
  line.querySelector("button").addEventListener("click", () => {
    const link = links.find((other) => other.hasAttribute("aria-current"));
    change("");
    link?.focus();
  });
  addEventListener("hashchange", follow);
  /* After all scripts have run, so that their listeners hear it. */
  addEventListener("DOMContentLoaded", follow);
}

/* The panel at the side of the page; it is no dialog, so the page stays in use. Escape closes it, and gives focus back
   to where it was opened from. Its element gets an event "close". */
const side = (() => {
  const element = document.querySelector(".side");
  let opener = null;

  function show() {
    if (!element.contains(document.activeElement)) opener = document.activeElement;
    element.hidden = false;
    document.body.classList.add("with-side");
  }

  function close() {
    if (element.hidden) return;
    element.hidden = true;
    document.body.classList.remove("with-side");
    element.dispatchEvent(new Event("close"));
    if (opener?.isConnected && opener !== document.body) opener.focus({ preventScroll: true });
  }

  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && element && !event.defaultPrevented) close();
  });
  return { element, show, close, get isOpen() { return Boolean(element) && !element.hidden; } };
})();
/* Figures are drawn when they come near the window, in the reader's theme, and again when it changes. */
const plots = [...document.querySelectorAll(".plot")];
const drawnPlots = new Set();
/* Pixels across a sheet of paper. */
const SHEET = 680;

function resolveColours(value, style) {
  if (Array.isArray(value)) return value.map((inner) => resolveColours(inner, style));
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, resolveColours(inner, style)]));
  }
  if (typeof value !== "string" || !value.startsWith("var(--")) return value;
  return style.getPropertyValue(value.slice(4, -1)).trim();
}

/* Marks bear the numbers of their heads; their findings are looked up in the table of all findings. */
const HOVER_COLUMNS = ["mean", ...ENDS];
const hoverP = (p) => (p < 1e-16 ? "< 1e-16" : String(Number(p.toPrecision(2))));
function addHeadNumbers(trace) {
  const packed = trace.customdata?.bdata;
  const cells = packed ? new Uint32Array(bytes(packed).buffer) : [];
  trace.customdata = Array.from(cells, (cell) => {
    const row = trace.meta.sieve * perSieve + cell;
    return [layerAt(cell), cell % findings.heads, ...HOVER_COLUMNS.map((name) => columns[name][row]), hoverP(columns.p[row])];
  });
}

/* This script of plotly has no heat maps: a square of numbers is painted as a picture, a pixel a cell. */
const PACKED = { f4: Float32Array, u1: Uint8Array };
const numbersIn = ({ dtype, bdata }) => new PACKED[dtype](bytes(bdata).buffer);
const channelsOf = (scale) => scale.map(([, colour]) => [1, 3, 5].map((place) => parseInt(colour.slice(place, place + 2), 16)));
const partOf = (value, low, high) => Math.min(1, Math.max(0, (value - low) / (high - low || 1)));
function paintSquare(trace, layout) {
  const values = numbersIn(trace.z);
  const [rows, cells] = trace.z.shape.split(",").map(Number);
  const [low, high] = channelsOf(trace.colorscale);
  const canvas = html("canvas", { width: cells, height: rows });
  const context = canvas.getContext("2d");
  const picture = context.createImageData(cells, rows);
  values.forEach((value, cell) => {
    const part = partOf(value, trace.zmin, trace.zmax);
    low.forEach((start, channel) => { picture.data[4 * cell + channel] = start + part * (high[channel] - start); });
    picture.data[4 * cell + 3] = 255;
  });
  context.putImageData(picture, 0, 0);
  layout.images = [{
    source: canvas.toDataURL(), xref: "x", yref: "y", x: trace.x0 - trace.dx / 2, y: trace.y0 - trace.dy / 2,
    sizex: cells * trace.dx, sizey: rows * trace.dy, xanchor: "left", yanchor: "top", sizing: "stretch", layer: "above",
  }];
  const { zmin: cmin, zmax: cmax, colorscale, colorbar, name } = trace;
  return keyOfColours({ name, marker: { cmin, cmax, colorscale, colorbar, showscale: true } });
}

/* A key of colours is drawn with a mark that is nowhere. */
const keyOfColours = ({ marker, ...named }) => (
  { type: "scatter", mode: "markers", x: [null], y: [null], ...named, marker: { color: [marker.cmin], ...marker }, hoverinfo: "skip" }
);

/* Plotly wants names of colours for bars. */
function shadeCells(trace) {
  const { color, cmin, cmax, colorscale, colorbar, showscale, ...marker } = trace.marker;
  const channels = channelsOf(colorscale);
  const mixed = (value) => {
    const part = partOf(value, cmin, cmax) * (channels.length - 1);
    const first = Math.min(Math.floor(part), channels.length - 2);
    const mix = channels[first].map((start, channel) => Math.round(start + (part - first) * (channels[first + 1][channel] - start)));
    return `rgb(${mix.join()})`;
  };
  const cells = { ...trace, marker: { ...marker, color: Array.from(numbersIn(color), mixed) } };
  const key = { name: trace.name, meta: trace.meta, marker: { cmin, cmax, colorscale, colorbar, showscale } };
  return showscale ? [cells, keyOfColours(key)] : [cells];
}

/* Plotly stands in the page packed and becomes a script with the first figure, so that the page is ready before it. */
let plotly = null;
const plotlyReady = unpack(by("plotly-source").textContent).then((script) => { plotly = new TextDecoder().decode(script); });

function draw(plot) {
  if (plotly === null) return plotlyReady.then(() => draw(plot));
  if (plotly) document.body.append(html("script", {}, plotly));
  plotly = "";
  const spec = resolveColours(read(`${plot.id}-spec`), getComputedStyle(document.documentElement));
  for (const trace of spec.data) if (trace.meta?.sieve !== undefined) addHeadNumbers(trace);
  spec.data = spec.data.flatMap((trace) => {
    if (trace.type === "heatmap") return [paintSquare(trace, spec.layout)];
    return trace.type === "bar" && trace.marker.colorscale ? shadeCells(trace) : [trace];
  });
  const hidden = hiddenRoles(plot);
  for (const trace of spec.data) trace.visible = !(trace.meta && hidden(trace.meta.role));
  const config = { displaylogo: false, responsive: true, modeBarButtons: [["toImage"]], toImageButtonOptions: { format: "svg", filename: plot.id } };
  const first = !drawnPlots.has(plot);
  drawnPlots.add(plot);
  return Plotly.react(plot, spec.data, spec.layout, config).then(() => {
    hideDrawing(plot);
    if (first) plot.on("plotly_afterplot", () => hideDrawing(plot));
  });
}

/* Words and a table describe the drawing, so screen readers skip the text fragments inside it. */
function hideDrawing(plot) {
  for (const drawing of plot.querySelectorAll(".main-svg, .hoverlayer")) drawing.setAttribute("aria-hidden", "true");
}

/* Whether a role is switched off by its button, or another is picked where there are too many for buttons. */
function hiddenRoles(plot) {
  const figure = plot.closest("figure");
  const picked = figure?.querySelector(".pick")?.value ?? "";
  if (picked !== "") return (role) => role !== Number(picked);
  const buttons = figure?.querySelectorAll('.legend [aria-pressed="false"]') ?? [];
  const off = new Set([...buttons].map((button) => Number(button.dataset.role)));
  return (role) => off.has(role);
}

for (const pick of document.querySelectorAll(".pick")) {
  pick.addEventListener("input", () => pick.closest("figure").querySelectorAll(".plot").forEach(draw));
}

for (const legend of document.querySelectorAll(".legend")) {
  legend.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    const one = "one" in legend.dataset;
    if (one) press(legend.querySelectorAll("button"), (other) => other === button);
    else press([button], () => button.getAttribute("aria-pressed") !== "true");
    legend.closest("figure")?.querySelectorAll(".plot").forEach(draw);
  });
}

const near = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    near.unobserve(entry.target);
    draw(entry.target);
  }
}, { rootMargin: "500px" });
requestAnimationFrame(() => setTimeout(() => plots.forEach((plot) => near.observe(plot))));

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawnPlots.forEach(draw));
addEventListener("beforeprint", () => {
  document.documentElement.dataset.print = "";
  document.querySelectorAll("#run details, .notice, .glossary").forEach((details) => { details.open = true; });
  const grid = by("matrix");
  if (grid) grid.style.zoom = Math.min(1, SHEET / grid.offsetWidth);
  plots.forEach(draw);
});
addEventListener("afterprint", () => {
  delete document.documentElement.dataset.print;
  by("matrix")?.style.removeProperty("zoom");
  drawnPlots.forEach(draw);
});
/* Figures of which one is shown at a time. */
for (const choice of document.querySelectorAll(".one-of")) {
  const pick = choice.querySelector("select");
  const show = () => {
    for (const figure of choice.nextElementSibling.children) {
      figure.hidden = figure.id !== pick.value;
      for (const plot of figure.hidden ? [] : figure.querySelectorAll(".plot")) if (drawnPlots.has(plot)) Plotly.Plots.resize(plot);
    }
  };
  pick.addEventListener("input", show);
  choice.hidden = false;
  show();
}
/* Downloads: tables made from the numbers of the page, files embedded as they are, and text for the clipboard. */
/* Numbers as Python writes them: the shortest digits that read back as the same number. */
function numberText(number, whole) {
  if (Number.isNaN(number)) return "";
  if (!Number.isFinite(number)) return number > 0 ? "inf" : "-inf";
  if (whole) return String(number);
  const size = Math.abs(number);
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) return number.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  const text = Object.is(number, -0) ? "-0" : String(number);
  return text.includes(".") ? text : `${text}.0`;
}

const csvCell = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/* The manifest of a run's folder also lists its files; the page's copy of it has another name. */
const manifestText = () => `${by("manifest").textContent.trim()}\n`;
const FILES = { "manifest.json": manifestText, "run.json": manifestText };
for (const [name, text] of Object.entries(read("files"))) FILES[name] = () => text;
by("downloads").addEventListener("click", (event) => {
  const name = event.target.dataset.file;
  if (!name) return;
  const link = html("a", { download: name, href: URL.createObjectURL(new Blob([FILES[name]()], { type: "text/plain;charset=utf-8" })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
});
by("downloads").hidden = false;

/* Put text on the clipboard; where the browser refuses, show it selected in a field, to be copied by hand. */
function copyText(button, text) {
  button.dataset.label ??= button.textContent;
  const announce = (word) => {
    button.textContent = word;
    setTimeout(() => { button.textContent = button.dataset.label; }, 1500);
  };
  const bySelection = () => {
    const field = html("textarea", { class: "to-copy", readonly: "", "aria-label": "Text to copy" }, text);
    button.after(field);
    field.select();
    if (!document.execCommand("copy")) {
      announce("Selected");
      field.addEventListener("blur", () => field.remove(), { once: true });
      return;
    }
    field.remove();
    button.focus();
    announce("Copied");
  };
  if (!navigator.clipboard || document.featurePolicy?.allowsFeature("clipboard-write") === false) bySelection();
  else navigator.clipboard.writeText(text).then(() => announce("Copied"), bySelection);
}

for (const button of document.querySelectorAll("button[data-copy]")) {
  const end = button.dataset.copy === "command" ? "" : "\n";
  button.hidden = false;
  button.addEventListener("click", () => copyText(button, by(button.dataset.copy).textContent.trim() + end));
}

/* A table as Markdown and as LaTeX that show its text as it is; the first column holds words. */
const quiet = (text) => text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, " ");
const markdownCell = (text) => quiet(text).replace(/[\\|`*_~]|<(?=[A-Za-z/!?])|&(?=#?\w+;)/g, "\\$&") || " ";

function markdownTable(header, rows, caption) {
  const sides = header.map((_, column) => (column ? "---:" : "---")).join(" | ");
  const cells = (line) => `| ${line.map(markdownCell).join(" | ")} |`;
  return `${caption ? `${markdownCell(caption)}\n\n` : ""}${cells(header)}\n| ${sides} |\n${rows.map(cells).join("\n")}\n`;
}

const LATEX = {
  "\\": "\\textbackslash{}", "{": "\\{", "}": "\\}", $: "\\$", "&": "\\&", "#": "\\#", "%": "\\%", _: "\\_", "^": "\\textasciicircum{}", "\u2060": "{}",
  "~": "\\textasciitilde{}", "<": "\\textless{}", ">": "\\textgreater{}", "|": "\\textbar{}", '"': "\\textquotedbl{}", "'": "\\textquotesingle{}",
  "`": "\\textasciigrave{}", "\u00a0": "~", "–": "--", "−": "$-$", "×": "$\\times$", "≤": "$\\leq$", "≥": "$\\geq$", "∞": "$\\infty$",
  "→": "$\\rightarrow$", "←": "$\\leftarrow$", θ: "$\\theta$", "±": "$\\pm$", "“": "``", "”": "\'\'", "’": "\'",
};
function latexCell(text) {
  const latex = [...quiet(text).replace(/\p{Cf}/gu, "").replace(/-(?=-)/g, "-\u2060")].map((letter) => LATEX[letter] ?? letter).join("");
  return /^[[*]/.test(latex) ? `{${latex[0]}}${latex.slice(1)}` : latex;
}

function latexTable(header, rows, caption) {
  const cells = (line) => `${line.map(latexCell).join(" & ")} \\\\`;
  const long = rows.length > 40;
  const columns = header.map((_, column) => (column ? "r" : "l")).join("");
  const title = caption ? `\\caption{${latexCell(caption)}}` : "";
  const body = [cells(header), "\\midrule", ...(long ? ["\\endhead", "\\bottomrule", "\\endfoot"] : []), ...rows.map(cells)].join("\n");
  return long
    ? `% \\usepackage{booktabs,longtable}\n\\begin{longtable}{${columns}}\n${title ? `${title}\\\\\n` : ""}\\toprule\n${body}\n\\end{longtable}\n`
    : `% \\usepackage{booktabs}\n\\begin{table}\n\\centering\n${title}\n\\begin{tabular}{${columns}}\n\\toprule\n${body}\n\\bottomrule\n\\end{tabular}\n\\end{table}\n`;
}
/* Tables that sort by a click on a heading, numbers by their keys, missing ones last, words as words; long ones are searched. */
const LONG = 16;

/* The sort key of a cell without one: the number its text begins with, else its text. */
function keyOf(text) {
  const number = text.trim().replace("−", "-").replace(/^[<≥≤]\s*/, "").replace(/(\d),(?=\d{3})/g, "$1");
  if (number === "" || number === "–") return "nan";
  const start = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?(?=$|[\s%[,(])/i.exec(number);
  return start ? String(Number(start[0])) : number;
}

function sortable(place) {
  const body = place.tBodies[0];
  const key = (line, column) => line.cells[column].dataset.key;
  const numeric = (column) => [...body.rows].every((line) => key(line, column) === "nan" || Number.isFinite(Number(key(line, column))));

  function sortLines(column, direction) {
    const lines = [...body.rows];
    if (numeric(column)) {
      const values = lines.map((line) => Number(key(line, column)));
      return sortRows([...lines.keys()], (line) => values[line], direction).map((line) => lines[line]);
    }
    return lines.sort((first, other) => direction * key(first, column).localeCompare(key(other, column), "en"));
  }

  for (const cell of body.querySelectorAll("th:not([data-key]), td:not([data-key])")) cell.dataset.key = keyOf(cell.textContent);
  [...place.tHead.rows[0].cells].forEach((heading, column) => {
    const button = html("button", { type: "button" }, ...heading.childNodes);
    button.addEventListener("click", () => {
      const direction = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      markSorted(place, heading, direction);
      body.replaceChildren(...sortLines(column, direction));
    });
    heading.append(button);
  });
}

/* Rows that hold every word. */
function searchable(place) {
  const lines = [...place.tBodies[0].rows];
  const texts = lines.map((line) => ` ${[...line.cells].map((cell) => cell.textContent).join(" ")} `.toLowerCase());
  const [field, status] = [html("input", { type: "search" }), html("span", { class: "count", role: "status" })];
  field.addEventListener("input", () => {
    const terms = termsOf(field);
    lines.forEach((line, number) => { line.hidden = !isFound(terms, texts[number]); });
    const count = lines.filter((line) => !line.hidden).length;
    status.textContent = terms.length ? `${count.toLocaleString("en")} of ${lines.length.toLocaleString("en")} rows` : "";
  });
  place.closest(".scroll").before(html("div", { class: "controls" }, html("label", {}, "Filter ", field), status));
}

for (const place of document.querySelectorAll("table.sortable")) {
  sortable(place);
  if (place.tBodies[0].rows.length > LONG) searchable(place);
}
