/* The label matrix: the roles of a head, its scores on hover or focus, its card on a click, filters. */
const matrix = document.getElementById("matrix");
const cells = [...matrix.tBodies[0].querySelectorAll("td")];
const card = document.getElementById("card");
const buttons = [...document.querySelectorAll("#matrix-controls [data-role]")];
const limit = document.getElementById("matrix-q");
const picker = document.getElementById("matrix-role");
const many = "many" in matrix.dataset;
const least = document.getElementById("matrix-stability");
const farthest = document.getElementById("matrix-effect");
let current = 0;
let chosen = -1;

const rowOf = (role, cell) => role.sieve * perSieve + cell;
const WORDS = ["role", "not", "undetermined", "untestable", "explained", "contrast"];
const STATES = ["", "–", "?", "×", "="];
const ABSENT = "0";
const MOST = 15;
for (const role of findings.roles) {
  role.strong = new Set(role.strong);
  role.absent = new Set(role.absent);
}

function chip(role, cell) {
  return create("i", role.code, `chip tone-${role.tone}${role.strong.has(cell) ? " strong" : ""}`);
}

/* The decision about a head in words, with what a contrast controls for. */
function verdictWords(role, cell) {
  const code = decisions[rowOf(role, cell)];
  if (code === 0 && role.stronger) return `role${role.strong.has(cell) ? `, beyond ${role.stronger}` : `, beyond ${role.control} only`}`;
  if (code === 1 && role.absent.has(cell)) return "not, absent";
  return code === 4 ? `explained by ${role.control}` : WORDS[code];
}

/* The shade of every head in one role: 0 at chance or below, 1 at the largest mean. */
function depths(role) {
  const means = cells.map((_, cell) => columns.mean[rowOf(role, cell)]);
  const chance = columns.null[rowOf(role, 0)] || 0;
  const largest = means.reduce((most, mean) => (mean > most ? mean : most), chance);
  return means.map((mean) => (mean > chance && largest > chance ? (mean - chance) / (largest - chance) : 0));
}

function paint() {
  const most = typedNumber(limit);
  const fewest = typedNumber(least);
  const beyond = typedNumber(farthest);
  const passes = (row) => decisions[row] === 0 && !(columns.q[row] > most) && !(least && columns.stability[row] < fewest)
    && (Number.isNaN(beyond) || columns.effect[row] >= beyond);
  const single = chosen >= 0 ? findings.roles[chosen] : null;
  const shades = single ? depths(single) : [];
  if (many && !single) return tally(passes);
  matrix.classList.toggle("shaded", single !== null);
  document.getElementById("matrix-key").hidden = single === null;
  cells.forEach((cell, index) => {
    const marks = create("span", undefined, "marks");
    const candidates = single ? [single] : findings.roles;
    for (const role of candidates) {
      const row = rowOf(role, index);
      if (passes(row)) marks.append(many ? create("span", "●", "state") : chip(role, index));
      else if (single && decisions[row] > 0) marks.append(create("span", role.absent.has(index) ? ABSENT : STATES[decisions[row]], "state"));
    }
    cell.replaceChildren(marks);
    cell.style.setProperty("--depth", single ? (0.55 * shades[index]).toFixed(3) : "0");
    cell.setAttribute("aria-label", labelOf(index, passes));
  });
}

/* Too many roles for marks: how many of them a head holds. */
function tally(passes) {
  const counts = cells.map((_, cell) => findings.roles.filter((role) => passes(rowOf(role, cell))).length);
  const most = Math.max(...counts, 1);
  matrix.classList.add("shaded");
  document.getElementById("matrix-key").hidden = true;
  cells.forEach((cell, index) => {
    const marks = create("span", undefined, "marks");
    marks.append(create("span", counts[index] || "", "tally"));
    cell.replaceChildren(marks);
    cell.style.setProperty("--depth", (0.55 * counts[index] / most).toFixed(3));
    cell.setAttribute("aria-label", labelOf(index, passes));
  });
}

function labelOf(cell, passes) {
  const held = findings.roles.filter((role) => passes(rowOf(role, cell)));
  const nameOf = (role) => findings.sieves[role.sieve] + (role.strong.has(cell) ? ` beyond ${role.stronger}` : "");
  const names = held.length > MOST ? `${held.length} roles` : held.map(nameOf).join(", ");
  return `layer ${Math.floor(cell / findings.heads)} head ${cell % findings.heads}: ${names || "no role"}`;
}

/* One line per role with its evidence; a dash for NaN. The whole evidence has q of every verdict. */
function evidence(cell, roles, whole = false) {
  const table = create("table");
  const top = table.createTHead().insertRow();
  const shares = hasNumbers("prevalence");
  const explained = whole && roles.some((role) => role.contrast >= 0) && hasNumbers("q_explained");
  const bounded = whole && hasNumbers("q_absent");
  const headings = ["role", "decision", "mean [95 %]", "contrast", "effect", "q", "q of not", ...(explained ? ["q of explained"] : []),
    ...(bounded ? ["q of absent"] : []), ...(least ? ["stability"] : []), ...(shares ? ["share of units [95 %]"] : [])];
  for (const word of headings) top.append(heading(create("th", word), "col"));
  const body = table.createTBody();
  for (const role of roles) {
    const row = rowOf(role, cell);
    const line = body.insertRow();
    line.className = decisions[row] === 0 ? "held" : "";
    line.append(heading(createIsolated("th", findings.sieves[role.sieve]), "row"), create("td", verdictWords(role, cell)));
    const contrast = role.contrast < 0 ? "" : cellText("mean", role.contrast * perSieve + cell);
    const [mean, low, high, ...numbers] = ["mean", ...ENDS, "effect", "q", "q_not", ...(explained ? ["q_explained"] : []), ...(bounded ? ["q_absent"] : []), ...(least ? ["stability"] : [])].map((name) => cellText(name, row));
    if (shares) numbers.push(shareText(row));
    for (const text of [Number.isNaN(columns.mean[row]) ? "–" : `${mean} [${low}, ${high}]`, contrast, ...numbers]) {
      line.append(create("td", text));
    }
  }
  return table;
}

/* The share of units beyond θ with its interval, in per cent. */
function shareText(row) {
  const [share, low, high] = ["prevalence", "prevalence_low", "prevalence_high"].map((name) => Math.round(100 * columns[name][row]));
  return Number.isNaN(share) ? "–" : `${share} % [${low}, ${high}]`;
}

function heading(element, scope) {
  element.scope = scope;
  return element;
}

function titleOf(cell) {
  return `Layer ${Math.floor(cell / findings.heads)}, head ${cell % findings.heads}`;
}

function fill(cell) {
  card.replaceChildren(create("p", titleOf(cell)), evidence(cell, many ? strongestRoles(cell) : findings.roles));
  if (many) card.append(create("p", countsText(cell), "state-counts"));
  card.firstChild.style.fontWeight = "600";
}

/* The role chosen, else those a head holds, the farthest beyond chance first. */
function strongestRoles(cell) {
  if (chosen >= 0) return [findings.roles[chosen]];
  const beyond = (role) => columns.mean[rowOf(role, cell)] - columns.null[rowOf(role, cell)];
  const held = findings.roles.filter((role) => decisions[rowOf(role, cell)] === 0);
  return held.sort((one, other) => beyond(other) - beyond(one)).slice(0, MOST);
}

function countsText(cell) {
  const counts = [0, 0, 0, 0, 0];
  for (const role of findings.roles) counts[decisions[rowOf(role, cell)]] += 1;
  return `Of ${findings.roles.length} roles: ${WORDS.slice(0, 5).map((word, code) => `${counts[code]} ${word}`).join(", ")}`;
}

function show(cell) {
  fill(cell);
  card.hidden = false;
  const box = cells[cell].getBoundingClientRect();
  const { left, top } = beside(box, card.offsetWidth, card.offsetHeight);
  card.style.left = `${Math.max(8, left)}px`;
  card.style.top = `${Math.max(8, top)}px`;
}

/* Below the cell, else above it, else to its right or left. */
function beside(box, width, height) {
  const left = Math.min(box.left, innerWidth - width - 8);
  if (box.bottom + 8 + height < innerHeight) return { left, top: box.bottom + 8 };
  if (box.top - height - 8 > 0) return { left, top: box.top - height - 8 };
  const right = box.right + 8;
  const top = Math.min(box.top, innerHeight - height - 8);
  return { left: right + width < innerWidth ? right : box.left - width - 8, top };
}

function hide() {
  card.hidden = true;
}

function move(to) {
  cells[current].tabIndex = -1;
  current = to;
  cells[current].tabIndex = 0;
  cells[current].focus();
}

const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
matrix.addEventListener("keydown", (event) => {
  const cell = cells.indexOf(event.target);
  if (cell < 0) return;
  const [layer, head] = [Math.floor(cell / findings.heads), cell % findings.heads];
  if (event.key in STEPS) {
    const [down, right] = STEPS[event.key];
    const inside = (value, size) => Math.min(Math.max(value, 0), size - 1);
    move(inside(layer + down, findings.layers) * findings.heads + inside(head + right, findings.heads));
  } else if (event.key === "Home") move(layer * findings.heads);
  else if (event.key === "End") move(layer * findings.heads + findings.heads - 1);
  else if (event.key === "Enter" || event.key === " ") cards.open(cell);
  else return;
  event.preventDefault();
});
addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
addEventListener("scroll", hide, { passive: true });
matrix.addEventListener("focusin", (event) => { if (event.target.matches("td")) show(cells.indexOf(event.target)); });
matrix.addEventListener("focusout", hide);
matrix.addEventListener("mouseover", (event) => {
  const cell = cells.indexOf(event.target.closest("td"));
  if (cell >= 0) show(cell);
});
matrix.addEventListener("mouseleave", hide);
matrix.addEventListener("click", (event) => {
  const cell = cells.indexOf(event.target.closest("td"));
  if (cell < 0) return;
  move(cell);
  cards.open(cell);
});
for (const button of buttons) {
  button.addEventListener("click", () => {
    chosen = Number(button.dataset.role);
    buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
    paint();
  });
}
picker?.addEventListener("input", () => {
  chosen = Number(picker.value);
  paint();
});
for (const bound of [limit, least, farthest]) bound?.addEventListener("input", paint);
document.getElementById("matrix-controls").hidden = false;
document.getElementById("matrix-names")?.setAttribute("hidden", "");
paint();
