/* All findings, a few rows at a time, and the downloads; everything is made from the one embedded copy. */
/* Rows at a time: as many as the reader chose, where there is a choice. */
const pageRows = () => Number(by("rows")?.value ?? 100);
const roleOf = new Map(findings.roles.map((role) => [role.sieve, role]));
const titles = findings.titles ?? findings.sieves;
/* A search for the letters of a role finds this role, one for “no role” the heads that hold none. */
const codes = new Set(findings.roles.map((role) => role.code).filter((code) => /^[A-Z]/.test(code ?? "")));
const roleTerms = (field) => field.value.replace(/\bno role\b/gi, NO_ROLE).split(/\s+/).filter(Boolean).map((term) => (codes.has(term) ? `‹${term}›` : term).toLowerCase());
const roleWords = (role) => `${findings.sieves[role.sieve]} ${role.title} ${role.family} ‹${role.code}›`;
const NO_ROLE = "‹none›";
const hasContrasts = findings.roles.some((role) => role.contrast >= 0);
/* An interval of its own where the findings have that of a difference; a design effect where units are groups of examples. */
const hasOwnEnds = hasNumbers("mean_low") && columns.low.some((low, row) => Math.abs(low - columns.mean_low[row]) > 1e-9);
const hasGroups = hasNumbers("design_effect") && columns.design_effect.some((ratio) => !Number.isNaN(ratio) && ratio !== 1);
const table = by("table");
const filters = ["filter", "filter-sieve", "filter-decision"].map(by);
const stabilityFilter = by("filter-stability");
const moreColumns = by("more-columns");
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
  sieve: { text: (row) => titles[placeOf(row).sieve], key: placeColumn("sieve") },
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
const shownColumns = () => (moreColumns.getAttribute("aria-pressed") === "true" ? [...FIRST, ...MORE] : FIRST);

function withInterval(row) {
  const effect = cellText("hedges_g", row);
  return effect === "–" ? effect : `${effect} ${ends("g_low", "g_high", row)}`;
}

/* Heads that a sentence of the answer is about, such as those without a role, or with roles of one family only; null for all. */
function headsOf(asked) {
  if (!asked) return null;
  const holdsAny = (roles) => (cell) => roles.some((role) => holds(role, cell));
  if (asked.decision === "none") return new Set(every.filter((cell) => !holdsAny(findings.roles)(cell)));
  const role = findings.roles.find((other) => findings.sieves[other.sieve] === asked.sieve);
  if (!role) return null;
  const inside = holdsAny(findings.roles.filter((other) => other.family === role.family));
  const outside = holdsAny(findings.roles.filter((other) => other.family !== role.family));
  if (asked.decision === "family") return new Set(every.filter(inside));
  if (asked.decision === "only") return new Set(every.filter((cell) => inside(cell) && !outside(cell)));
  return new Set(every.filter((cell) => WORDS[decisions[rowOf(role, cell)]] === asked.decision));
}

function answerTest(asked) {
  const heads = headsOf(asked);
  if (asked.decision === "none") return (row) => heads.has(row % perSieve) && roleOf.has(placeOf(row).sieve);
  const family = roleOf.get(findings.sieves.indexOf(asked.sieve))?.family;
  return (row) => decisions[row] === 0 && roleOf.get(placeOf(row).sieve)?.family === family && heads.has(row % perSieve);
}

function matching() {
  const [, sieve, decision] = filters.map((filter) => filter.value);
  const bound = typedNumber(stabilityFilter);
  const terms = roleTerms(filters[0]);
  const rows = [];
  for (let row = 0; row < rowCount; row += 1) {
    const { sieve: own, layer, head } = placeOf(row);
    if (sieve !== "" && Number(sieve) !== own) continue;
    if (decision === "" ? hasContrasts && WORDS[decisions[row]] === "contrast" && sieve === "" : Number(decision) !== decisions[row]) continue;
    if (!Number.isNaN(bound) && !(columns.stability[row] >= bound)) continue;
    if (state.answer && !state.answer(row)) continue;
    const role = roleOf.get(own);
    const words = ` ${findings.sieves[own]} ${titles[own]} layer ${layer} head ${head} ${layer}-${head} ${decisionWord(row)} ${role ? roleWords(role) : ""} ${findings.roles.some((other) => holds(other, row % perSieve)) ? "" : NO_ROLE} `;
    if (isFound(terms, words.toLowerCase())) rows.push(row);
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

const line = (row) => html("tr", { class: decisions[row] === 0 ? "is-role" : undefined }, shownColumns().map(({ text, words }, number) => (
  number === 0 ? html("th", {}, isolated(text(row))) : html("td", { class: words ? "words" : undefined }, text(row))
)));

function list() {
  const start = state.page * pageRows();
  const rows = state.rows.slice(start, start + pageRows());
  table.tBodies[0].replaceChildren(...rows.map(line));
  const total = state.rows.length.toLocaleString("en");
  by("shown").textContent = rows.length
    ? `Rows ${(start + 1).toLocaleString("en")}–${(start + rows.length).toLocaleString("en")} of ${total}` : "No row matches.";
  by("previous").disabled = state.page === 0;
  by("next").disabled = start + pageRows() >= state.rows.length;
}

function buildHead() {
  const mark = () => {
    const heading = [...table.tHead.rows[0].cells].find((cell) => cell.textContent === state.sort);
    markSorted(table, heading, state.direction);
  };
  const sortBy = (name) => {
    state.direction = state.sort === name ? -state.direction : 1;
    state.sort = name;
    mark();
    select();
  };
  table.tHead.replaceChildren(html("tr", {}, shownColumns().map(({ name, words }) => {
    const button = html("button", { type: "button" }, name);
    button.addEventListener("click", () => sortBy(name));
    return html("th", { class: words ? "words" : undefined, scope: "col" }, button);
  })));
  mark();
}

/* The filtered rows of all pages, under the columns shown, as text for a paper. */
function copiedRows(write) {
  const shown = shownColumns();
  return write(shown.map(({ name }) => name), state.rows.map((row) => shown.map(({ text }) => text(row))), table.dataset.caption ?? "");
}

function build() {
  filters[1].append(new Option("all", ""), ...titles.map((title, sieve) => new Option(title, sieve)));
  const used = (word, code) => word !== "explained" || decisions.includes(code);
  filters[2].append(new Option("all", ""), ...WORDS.flatMap((word, code) => (used(word, code) ? [new Option(word, code)] : [])));
  for (const filter of [...filters, stabilityFilter]) filter?.addEventListener("input", () => { state.answer = null; select(); });
  moreColumns.hidden = !MORE.length;
  moreColumns.addEventListener("click", () => {
    press([moreColumns], () => moreColumns.getAttribute("aria-pressed") !== "true");
    buildHead();
    list();
  });
  by("previous").addEventListener("click", () => { state.page -= 1; list(); });
  by("next").addEventListener("click", () => { state.page += 1; list(); });
  for (const [id, write] of [["copy-markdown", markdownTable], ["copy-latex", latexTable]]) {
    by(id).addEventListener("click", (event) => copyText(event.currentTarget, copiedRows(write)));
  }
  document.addEventListener("filter", (event) => filterTable(event.detail ?? {}));
  by("rows")?.addEventListener("input", select);
  for (const id of ["table-controls", "pages"]) by(id).hidden = false;
  buildHead();
  filterTable();
}

const csvText = (lines) => lines.map((line) => `${line.join(",")}\n`).join("");
/* A table of every sieve and head, with the numbers of some columns. */
function rowsFile(names, decided) {
  const lines = Array.from({ length: rowCount }, (_, row) => {
    const { sieve, layer, head } = placeOf(row);
    const numbers = names.map((name) => numberText(columns[name][row], name === "count"));
    return [csvCell(findings.sieves[sieve]), layer, head, ...numbers, ...(decided ? [findings.decisions[tested[row]]] : [])];
  });
  return csvText([["sieve", "layer", "head", ...names, ...(decided ? [decided] : [])], ...lines]);
}
const findingsFile = () => rowsFile(findings.names, findings.decided ?? "decision");

function labelsFile() {
  const names = findings.roles.map((role) => findings.sieves[role.sieve]);
  const { shared } = findings;
  return csvText([["layer", "head", "roles", ...names.map(csvCell), ...(shared.length ? ["kv_group"] : [])], ...every.map((cell) => {
    const codes = findings.roles.map((role) => tested[rowOf(role, cell)]);
    const roles = csvCell(names.filter((_, role) => codes[role] === 0).join(";"));
    return [layerAt(cell), cell % findings.heads, roles, ...codes.map((code) => ["1", "0"][code] ?? ""), ...shared.slice(cell, cell + 1)];
  })]);
}

/* Files of the run that the page holds are offered as they are. */
const MADE = { "findings.csv": findingsFile, "differences.csv": findingsFile, "labels.csv": labelsFile, "precision.csv": () => rowsFile(findings.precision) };
for (const [name, write] of Object.entries(MADE)) FILES[name] ??= write;
build();
