/* One sieve at a time in the figures, and all differences, a hundred rows at a time. */
const PAGE = 100;
const WORDS = findings.outcomes;
/* Test statistics stand in the file only. */
const SHOWN = findings.names.filter((name) => name !== "statistic");
const HEADINGS = ["sieve", "layer", "head", "outcome", ...SHOWN];
const PLACES = { mean_a: 3, mean_b: 3, difference: 3, effect: 3, low: 3, high: 3 };
const table = document.getElementById("table");
const filters = ["filter", "filter-sieve", "filter-outcome"].map((id) => document.getElementById(id));
const state = { sort: "", direction: 1, page: 0, rows: [] };

/* The legend of the figures is a choice of one: the buttons are set here, and the plots drawn again. */
const choice = document.querySelector(".chosen");
choice.closest("figure").addEventListener("click", (event) => {
  const button = event.target.closest(".chosen button");
  if (!button) return;
  for (const other of choice.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button));
  choice.closest("figure").querySelectorAll(".plot").forEach(draw);
});

function value(row, name) {
  const place = placeOf(row);
  if (name in place) return place[name];
  return name === "outcome" ? decisions[row] : columns[name][row];
}

function matching() {
  const [text, sieve, outcome] = filters.map((filter) => filter.value);
  const terms = text.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = [];
  for (let row = 0; row < rowCount; row += 1) {
    const { sieve: place, layer, head } = placeOf(row);
    if (sieve !== "" && Number(sieve) !== place) continue;
    if (outcome !== "" && Number(outcome) !== decisions[row]) continue;
    const rowText = ` ${findings.sieves[place]} layer ${layer} head ${head} ${layer}-${head} ${WORDS[decisions[row]]} `.toLowerCase();
    if (terms.every((term) => (/\d$/.test(term) ? rowText.includes(` ${term} `) : rowText.includes(term)))) rows.push(row);
  }
  return rows;
}

function cell(name, row) {
  const number = columns[name][row];
  if (/^[pq]/.test(name) && number < 1e-16) return "< 1e-16";
  return name in PLACES && Math.abs(number) < 1e5 ? number.toFixed(PLACES[name]).replace("-", "−") : shortNumber(number);
}

function line(row) {
  const { sieve, layer, head } = placeOf(row);
  const element = create("tr", undefined, decisions[row] === 0 ? "is-changed" : "");
  element.append(createIsolated("th", findings.sieves[sieve]), create("td", layer), create("td", head));
  element.append(create("td", WORDS[decisions[row]], "words"));
  for (const name of SHOWN) element.append(create("td", cell(name, row)));
  return element;
}

function list() {
  const start = state.page * PAGE;
  const rows = state.rows.slice(start, start + PAGE);
  table.tBodies[0].replaceChildren(...rows.map(line));
  const last = (start + rows.length).toLocaleString("en");
  document.getElementById("shown").textContent = rows.length
    ? `Rows ${(start + 1).toLocaleString("en")}–${last} of ${state.rows.length.toLocaleString("en")}` : "No row matches.";
  document.getElementById("previous").disabled = state.page === 0;
  document.getElementById("next").disabled = start + PAGE >= state.rows.length;
}

function select() {
  const rows = matching();
  state.rows = state.sort === "" ? rows : sortRows(rows, (row) => value(row, state.sort), state.direction);
  state.page = 0;
  list();
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
    const heading = create("th", undefined, name === "outcome" ? "words" : "");
    heading.scope = "col";
    const button = create("button", name.replace("_equivalent", " of equivalence").replace("mean_a", "mean A").replace("mean_b", "mean B"));
    button.type = "button";
    button.addEventListener("click", () => sortBy(name, heading));
    heading.append(button);
    top.append(heading);
  }
  filters[1].append(new Option("all", ""), ...findings.sieves.map((name, sieve) => new Option(name, sieve)));
  filters[2].append(new Option("all", ""), ...WORDS.map((word, code) => new Option(word, code)));
  filters.forEach((filter) => filter.addEventListener("input", select));
  document.getElementById("previous").addEventListener("click", () => { state.page -= 1; list(); });
  document.getElementById("next").addEventListener("click", () => { state.page += 1; list(); });
  for (const id of ["table-controls", "pages"]) document.getElementById(id).hidden = false;
  select();
}

function differencesFile() {
  const lines = [["sieve", "layer", "head", ...findings.names, "outcome"].join(",")];
  for (let row = 0; row < rowCount; row += 1) {
    const { sieve, layer, head } = placeOf(row);
    const numbers = findings.names.map((name) => numberText(columns[name][row], name === "count"));
    lines.push([csvCell(findings.sieves[sieve]), layer, head, ...numbers, WORDS[decisions[row]]].join(","));
  }
  return lines.join("\n") + "\n";
}
/* A sentence of the answer filters the table, too. */
document.addEventListener("filter", ({ detail }) => {
  const sieve = detail ? findings.sieves.indexOf(detail.sieve) : -1;
  const outcome = detail ? WORDS.indexOf(detail.decision) : -1;
  filters[1].value = sieve < 0 ? "" : String(sieve);
  filters[2].value = outcome < 0 ? "" : String(outcome);
  select();
});
FILES["differences.csv"] = differencesFile;
build();
