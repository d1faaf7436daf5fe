/* All findings, a hundred rows at a time, and the downloads; everything is made from the one embedded copy. */
const PAGE = 100;
/* An interval stands beside its effect; a design effect is shown where units are groups of examples. */
const hasGroups = hasNumbers("design_effect") && columns.design_effect.some((ratio) => !Number.isNaN(ratio) && ratio !== 1);
const hasOwnEnds = hasNumbers("mean_low") && columns.low.some((low, row) => Math.abs(low - columns.mean_low[row]) > 1e-9);
const EXTRA = ["hedges_g", "detectable", "design_effect", "stability", "bayes_factor", "q_explained", "q_absent", "prevalence"]
  .filter((name) => hasNumbers(name) && (name !== "design_effect" || hasGroups));
const NUMBERS = [...findings.names, ...(hasOwnEnds ? ["mean_low", "mean_high"] : []), ...EXTRA];
const HEADINGS = ["sieve", "layer", "head", "decision", ...NUMBERS];
const COLUMN_NAMES = {
  ...(hasOwnEnds ? { low: "difference + chance: low", high: "difference + chance: high", mean_low: "mean: low", mean_high: "mean: high" } : {}),
  p_not: "p of not", q_not: "q of not", hedges_g: "hedges g [95 %]", design_effect: "design effect", bayes_factor: "BF10",
  q_explained: "q of explained", q_absent: "q of absent", prevalence: "share of units beyond θ",
};
const table = document.getElementById("table");
const filters = ["filter", "filter-sieve", "filter-decision"].map((id) => document.getElementById(id));
const stabilityFilter = document.getElementById("filter-stability");
const state = { sort: "", direction: 1, page: 0, rows: [] };

const decisionWord = (row) => WORDS[decisions[row]];

function value(row, name) {
  const place = placeOf(row);
  if (name === "sieve") return place.sieve;
  if (name === "layer" || name === "head") return place[name];
  return name === "decision" ? decisions[row] : columns[name][row];
}

function matching() {
  const [text, sieve, decision] = filters.map((filter) => filter.value);
  const bound = typedNumber(stabilityFilter);
  const terms = text.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = [];
  for (let row = 0; row < rowCount; row += 1) {
    const place = placeOf(row);
    if (sieve !== "" && Number(sieve) !== place.sieve) continue;
    if (decision !== "" && Number(decision) !== decisions[row]) continue;
    if (!Number.isNaN(bound) && !(columns.stability[row] >= bound)) continue;
    const { layer, head } = place;
    const words = ` ${findings.sieves[place.sieve]} layer ${layer} head ${head} ${layer}-${head} ${decisionWord(row)} `.toLowerCase();
    if (terms.every((term) => (/\d$/.test(term) ? words.includes(` ${term} `) : words.includes(term)))) rows.push(row);
  }
  return rows;
}

function select() {
  const rows = matching();
  state.rows = state.sort === "" ? rows : sortRows(rows, (row) => value(row, state.sort), state.direction);
  state.page = 0;
  list();
}

function line(row) {
  const place = placeOf(row);
  const element = create("tr", undefined, decisions[row] === 0 ? "is-role" : "");
  element.append(createIsolated("th", findings.sieves[place.sieve]), create("td", place.layer), create("td", place.head));
  element.append(create("td", decisionWord(row), "words"));
  for (const name of NUMBERS) element.append(create("td", name === "hedges_g" ? withInterval(row) : cellText(name, row)));
  return element;
}

function withInterval(row) {
  const [effect, low, high] = ["hedges_g", "g_low", "g_high"].map((name) => cellText(name, row));
  return effect === "–" ? effect : `${effect} [${low}, ${high}]`;
}

function list() {
  const start = state.page * PAGE;
  const rows = state.rows.slice(start, start + PAGE);
  table.tBodies[0].replaceChildren(...rows.map(line));
  const total = state.rows.length.toLocaleString("en");
  document.getElementById("shown").textContent = rows.length
    ? `Rows ${(start + 1).toLocaleString("en")}–${(start + rows.length).toLocaleString("en")} of ${total}` : "No row matches.";
  document.getElementById("previous").disabled = state.page === 0;
  document.getElementById("next").disabled = start + PAGE >= state.rows.length;
}

function sortBy(name, heading) {
  state.direction = state.sort === name ? -state.direction : 1;
  state.sort = name;
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", state.direction > 0 ? "ascending" : "descending");
  select();
}

function build() {
  const top = table.tHead.insertRow();
  for (const name of HEADINGS) {
    const heading = create("th", undefined, name === "decision" ? "words" : "");
    heading.scope = "col";
    const button = create("button", COLUMN_NAMES[name] ?? name);
    button.type = "button";
    button.addEventListener("click", () => sortBy(name, heading));
    heading.append(button);
    top.append(heading);
  }
  filters[1].append(new Option("all", ""), ...findings.sieves.map((name, sieve) => new Option(name, sieve)));
  filters[2].append(new Option("all", ""), ...WORDS.flatMap((word, code) => (word !== "explained" || decisions.includes(code) ? [new Option(word, code)] : [])));
  for (const filter of [...filters, stabilityFilter]) filter?.addEventListener("input", select);
  document.getElementById("previous").addEventListener("click", () => { state.page -= 1; list(); });
  document.getElementById("next").addEventListener("click", () => { state.page += 1; list(); });
  for (const id of ["table-controls", "pages"]) document.getElementById(id).hidden = false;
  select();
}

function findingsFile() {
  const lines = [["sieve", "layer", "head", ...findings.names, "decision"].join(",")];
  for (let row = 0; row < rowCount; row += 1) {
    const place = placeOf(row);
    const numbers = findings.names.map((name) => numberText(columns[name][row], name === "count"));
    const name = csvCell(findings.sieves[place.sieve]);
    lines.push([name, place.layer, place.head, ...numbers, findings.decisions[decisions[row]]].join(","));
  }
  return lines.join("\n") + "\n";
}

function labelsFile() {
  const names = findings.roles.map((role) => findings.sieves[role.sieve]);
  const shared = findings.shared;
  const lines = [["layer", "head", "roles", ...names.map(csvCell), ...(shared.length ? ["kv_group"] : [])].join(",")];
  for (let cell = 0; cell < perSieve; cell += 1) {
    const codes = findings.roles.map((role) => decisions[rowOf(role, cell)]);
    const roles = csvCell(names.filter((_, role) => codes[role] === 0).join(";"));
    const marks = codes.map((code) => ["1", "0"][code] ?? "");
    lines.push([Math.floor(cell / findings.heads), cell % findings.heads, roles, ...marks, ...shared.slice(cell, cell + 1)].join(","));
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

Object.assign(FILES, { "findings.csv": findingsFile, "labels.csv": labelsFile, "precision.csv": precisionFile });
build();
