/* All findings, a few rows at a time, and the downloads; everything is made from the one embedded copy. */
/* Rows at a time: as many as the reader chose, where there is a choice. */
const pageRows = () => Number(document.getElementById("rows")?.value ?? 100);
const roleOf = new Map(findings.roles.map((role) => [role.sieve, role]));
const hasContrasts = findings.roles.some((role) => role.contrast >= 0);
/* An interval of its own where the findings have that of a difference; a design effect where units are groups of examples. */
const hasOwnEnds = hasNumbers("mean_low") && columns.low.some((low, row) => Math.abs(low - columns.mean_low[row]) > 1e-9);
const hasGroups = hasNumbers("design_effect") && columns.design_effect.some((ratio) => !Number.isNaN(ratio) && ratio !== 1);
const table = document.getElementById("table");
const filters = ["filter", "filter-sieve", "filter-decision"].map((id) => document.getElementById(id));
const stabilityFilter = document.getElementById("filter-stability");
const moreColumns = document.getElementById("more-columns");
const state = { sort: "", direction: 1, page: 0, rows: [], answer: null };

/* What q tests, for column names: above what the mean lies, and below what. */
function testedText() {
  if (findings.tested) return findings.tested;
  const margins = new Set(findings.roles.map((role) => columns.margin[role.sieve * perSieve]));
  if (!hasOwnEnds || margins.size > 1) return ["> threshold", "< threshold"];
  const points = shortNumber(100 * [...margins][0]);
  return [`> ${points} points`, `< ${points} points`];
}

const placeColumn = (name) => (row) => placeOf(row)[name];
const numberColumn = (name) => ({ text: (row) => cellText(name, row), key: (row) => columns[name][row] });
const pColumn = (name) => ({ text: (row) => (columns[name][row] < 1e-16 ? "< 1e-16" : shortNumber(columns[name][row])), key: (row) => columns[name][row] });
const ends = (low, high, row) => (Number.isNaN(columns[low][row]) ? "–" : `[${cellText(low, row)}, ${cellText(high, row)}]`);
const [ABOVE, BELOW] = testedText();

/* The row of a role's contrast with the same head; undefined where it has none. */
function contrastRow(row) {
  const { sieve } = placeOf(row);
  const contrast = roleOf.get(sieve)?.contrast ?? -1;
  return contrast < 0 ? undefined : row + (contrast - sieve) * perSieve;
}

function contrastText(row) {
  const other = contrastRow(row);
  return other === undefined || Number.isNaN(columns.mean[other]) ? "–" : `${cellText("mean", other)} ${ends(...ENDS, other)}`;
}

function decisionWord(row) {
  const role = roleOf.get(placeOf(row).sieve);
  return WORDS[decisions[row]] === "explained" && role?.control ? role.verdict : WORDS[decisions[row]];
}

/* The columns that stand always, then those on request. A key sorts, and a column of words is left-aligned. */
const hasChance = hasNumbers("null") && columns.null.some((chance) => chance !== 0 && !Number.isNaN(chance));
const chance = { name: findings.chance ?? (hasOwnEnds ? "baseline" : "chance"), ...numberColumn("null") };
const CONTRAST = { name: "contrast [95 %]", text: contrastText, key: (row) => columns.mean[contrastRow(row)] ?? NaN };
const PLACES = {
  sieve: { text: (row) => findings.sieves[placeOf(row).sieve], key: placeColumn("sieve") },
  layer: { text: placeColumn("layer"), key: placeColumn("layer") }, head: { text: placeColumn("head"), key: placeColumn("head") },
  decision: { text: decisionWord, key: (row) => decisions[row], words: true },
};
const FIRST = findings.table?.map(([title, name]) => ({ ...(PLACES[name] ?? (/^[pq]/.test(name) ? pColumn(name) : numberColumn(name))), name: title })) ?? [
  { name: findings.noun ?? "role", ...PLACES.sieve },
  { name: "head", text: (row) => `${placeOf(row).layer}-${placeOf(row).head}`, key: (row) => row % perSieve },
  { name: "mean", ...numberColumn("mean") },
  { name: "95 % interval", text: (row) => ends(...ENDS, row), key: (row) => columns[ENDS[0]][row] },
  ...(hasContrasts ? [CONTRAST] : hasChance ? [chance] : []),
  { name: `q (${ABOVE})`, ...pColumn("q") },
  { name: "decision", ...PLACES.decision },
  ...(hasNumbers("stability") ? [{ name: "stability", ...numberColumn("stability") }] : []),
];
const EXTRA = [
  ["hedges_g", "hedges g [95 %]"], ["detectable", "detectable"], ["design_effect", "design effect"], ["bayes_factor", "BF10"],
  ["q_explained", "q of explained"], ["q_absent", "q of absent"], ["prevalence", "units beyond threshold"],
].filter(([name]) => hasNumbers(name) && (name !== "design_effect" || hasGroups));
const MORE = findings.table ? [] : [
  { name: "units", ...numberColumn("count") }, { name: "cells", ...numberColumn("cells") },
  ...(hasContrasts || !hasChance ? [chance] : []),
  { name: "margin", ...numberColumn("margin") }, { name: "effect", ...numberColumn("effect") },
  ...(hasOwnEnds ? [{ name: "interval of the test", text: (row) => ends("low", "high", row), key: (row) => columns.low[row] }] : []),
  { name: `p (${ABOVE})`, ...pColumn("p") }, { name: `p (${BELOW})`, ...pColumn("p_not") }, { name: `q (${BELOW})`, ...pColumn("q_not") },
  ...EXTRA.map(([name, title]) => ({ name: title, ...(name.startsWith("q_") ? pColumn(name) : numberColumn(name)),
    ...(name === "hedges_g" ? { text: withInterval } : {}) })),
];
const shownColumns = () => (moreColumns?.getAttribute("aria-pressed") === "true" ? [...FIRST, ...MORE] : FIRST);

function withInterval(row) {
  const effect = cellText("hedges_g", row);
  return effect === "–" ? effect : `${effect} ${ends("g_low", "g_high", row)}`;
}

/* Heads by what an answer says of them: without a role, with roles of one family only, or with any of a family. */
const familyOf = (sieve) => Math.floor(((roleOf.get(sieve)?.tone ?? 0) - 8) / 4);
const heldBy = (cell) => findings.roles.filter((role) => decisions[rowOf(role, cell)] === 0);
function answerTest({ sieve, decision }) {
  const family = familyOf(findings.sieves.indexOf(sieve));
  const held = Array.from({ length: perSieve }, (_, cell) => heldBy(cell));
  if (decision === "none") return (row) => held[row % perSieve].length === 0 && roleOf.has(placeOf(row).sieve);
  const inFamily = (row) => decisions[row] === 0 && familyOf(placeOf(row).sieve) === family;
  if (decision === "family") return inFamily;
  return (row) => inFamily(row) && held[row % perSieve].every((role) => familyOf(role.sieve) === family);
}

function matching() {
  const [text, sieve, decision] = filters.map((filter) => filter.value);
  const bound = typedNumber(stabilityFilter);
  const terms = text.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = [];
  for (let row = 0; row < rowCount; row += 1) {
    const { sieve: own, layer, head } = placeOf(row);
    if (sieve !== "" && Number(sieve) !== own) continue;
    if (decision === "" ? hasContrasts && WORDS[decisions[row]] === "contrast" && sieve === "" : Number(decision) !== decisions[row]) continue;
    if (!Number.isNaN(bound) && !(columns.stability[row] >= bound)) continue;
    if (state.answer && !state.answer(row)) continue;
    const words = ` ${findings.sieves[own]} layer ${layer} head ${head} ${layer}-${head} ${decisionWord(row)} `.toLowerCase();
    if (terms.every((term) => (/\d$/.test(term) ? words.includes(` ${term} `) : words.includes(term)))) rows.push(row);
  }
  return rows;
}

function select() {
  const rows = matching();
  const sorted = [...FIRST, ...MORE].find((entry) => entry.name === state.sort);
  state.rows = sorted ? sortRows(rows, sorted.key, state.direction) : rows;
  state.page = 0;
  list();
}

/* Show the rows of a role, a decision and a head, as links of the answer name them; those shown at first without any. */
function filterTable({ sieve = "", decision = "", head = "" } = {}) {
  const byAnswer = ["none", "only", "family"].includes(decision);
  const first = findings.first && (sieve ? !findings.sieves.includes(sieve) : !decision);
  const [column, code] = [findings.sieves.indexOf(first ? findings.first : sieve), first || !decision ? -1 : findings.decisions.indexOf(decision)];
  filters[0].value = head;
  filters[1].value = byAnswer || column < 0 ? "" : String(column);
  filters[2].value = byAnswer || code < 0 ? "" : String(code);
  if (stabilityFilter) stabilityFilter.value = "";
  state.answer = byAnswer ? answerTest({ sieve, decision }) : null;
  select();
}

function line(row) {
  const element = create("tr", undefined, decisions[row] === 0 ? "is-role" : "");
  shownColumns().forEach((entry, number) => {
    element.append(number === 0 ? createIsolated("th", entry.text(row)) : create("td", entry.text(row), entry.words ? "words" : ""));
  });
  return element;
}

function list() {
  const start = state.page * pageRows();
  const rows = state.rows.slice(start, start + pageRows());
  table.tBodies[0].replaceChildren(...rows.map(line));
  const total = state.rows.length.toLocaleString("en");
  document.getElementById("shown").textContent = rows.length
    ? `Rows ${(start + 1).toLocaleString("en")}–${(start + rows.length).toLocaleString("en")} of ${total}` : "No row matches.";
  document.getElementById("previous").disabled = state.page === 0;
  document.getElementById("next").disabled = start + pageRows() >= state.rows.length;
}

function sortBy(name) {
  state.direction = state.sort === name ? -state.direction : 1;
  state.sort = name;
  markSorted();
  select();
}

function markSorted() {
  for (const heading of table.tHead.rows[0].cells) {
    if (heading.textContent !== state.sort) heading.removeAttribute("aria-sort");
    else heading.setAttribute("aria-sort", state.direction > 0 ? "ascending" : "descending");
  }
}

function buildHead() {
  const top = create("tr");
  for (const { name, words } of shownColumns()) {
    const heading = create("th", undefined, words ? "words" : "");
    heading.scope = "col";
    const button = create("button", name);
    button.type = "button";
    button.addEventListener("click", () => sortBy(name));
    heading.append(button);
    top.append(heading);
  }
  table.tHead.replaceChildren(top);
  markSorted();
}

/* The filtered rows of all pages, under the columns shown, as text for a paper. */
function copiedRows(write) {
  const shown = shownColumns();
  return write(shown.map(({ name }) => name), state.rows.map((row) => shown.map(({ text }) => text(row))), table.dataset.caption ?? "");
}

function build() {
  filters[1].append(new Option("all", ""), ...findings.sieves.map((name, sieve) => new Option(name, sieve)));
  const used = (word, code) => word !== "explained" || decisions.includes(code);
  filters[2].append(new Option("all", ""), ...WORDS.flatMap((word, code) => (used(word, code) ? [new Option(word, code)] : [])));
  for (const filter of [...filters, stabilityFilter]) filter?.addEventListener("input", () => { state.answer = null; select(); });
  if (moreColumns) moreColumns.hidden = !MORE.length;
  moreColumns?.addEventListener("click", () => {
    moreColumns.setAttribute("aria-pressed", String(moreColumns.getAttribute("aria-pressed") !== "true"));
    buildHead();
    list();
  });
  document.getElementById("previous").addEventListener("click", () => { state.page -= 1; list(); });
  document.getElementById("next").addEventListener("click", () => { state.page += 1; list(); });
  const writers = { "copy-markdown": markdownTable, "copy-latex": latexTable };
  for (const [id, write] of Object.entries(writers)) {
    const button = document.getElementById(id);
    button?.addEventListener("click", () => copyText(button, copiedRows(write)));
  }
  document.addEventListener("filter", (event) => filterTable(event.detail ?? {}));
  document.getElementById("rows")?.addEventListener("input", select);
  for (const id of ["table-controls", "pages"]) document.getElementById(id).hidden = false;
  buildHead();
  filterTable();
}

function findingsFile() {
  const lines = [["sieve", "layer", "head", ...findings.names, findings.decided ?? "decision"].join(",")];
  for (let row = 0; row < rowCount; row += 1) {
    const place = placeOf(row);
    const numbers = findings.names.map((name) => numberText(columns[name][row], name === "count"));
    const name = csvCell(findings.sieves[place.sieve]);
    lines.push([name, place.layer, place.head, ...numbers, findings.decisions[tested[row]]].join(","));
  }
  return lines.join("\n") + "\n";
}

function labelsFile() {
  const names = findings.roles.map((role) => findings.sieves[role.sieve]);
  const shared = findings.shared;
  const lines = [["layer", "head", "roles", ...names.map(csvCell), ...(shared.length ? ["kv_group"] : [])].join(",")];
  for (let cell = 0; cell < perSieve; cell += 1) {
    const codes = findings.roles.map((role) => tested[rowOf(role, cell)]);
    const roles = csvCell(names.filter((_, role) => codes[role] === 0).join(";"));
    const marks = codes.map((code) => ["1", "0"][code] ?? "");
    lines.push([layerAt(cell), cell % findings.heads, roles, ...marks, ...shared.slice(cell, cell + 1)].join(","));
  }
  return lines.join("\n") + "\n";
}

function precisionFile() {
  const lines = [["sieve", "layer", "head", ...findings.precision].join(",")];
  for (let row = 0; row < rowCount; row += 1) {
    const { sieve, layer, head } = placeOf(row);
    const numbers = findings.precision.map((name) => numberText(columns[name][row], false));
    lines.push([csvCell(findings.sieves[sieve]), layer, head, ...numbers].join(","));
  }
  return lines.join("\n") + "\n";
}

/* Files of the run that the page holds are offered as they are. */
const MADE = { "findings.csv": findingsFile, "differences.csv": findingsFile, "labels.csv": labelsFile, "precision.csv": precisionFile };
for (const [name, write] of Object.entries(MADE)) FILES[name] ??= write;
build();
