/* The label matrix: the marks of a head's roles, filters, three lines on hover or focus, the panel of a head on a click. */
const matrix = document.getElementById("matrix");
const cells = [...matrix.tBodies[0].querySelectorAll("td")];
const buttons = [...document.querySelectorAll("#matrix-controls [data-role]")];
const limit = document.getElementById("matrix-q");
const picker = document.getElementById("matrix-role");
const many = "many" in matrix.dataset;
const least = document.getElementById("matrix-stability");
const farthest = document.getElementById("matrix-effect");
let current = 0;
let chosen = -1;

for (const role of findings.roles) {
  role.strong = new Set(role.strong);
  role.absent = new Set(role.absent);
}
/* Whether a head holds a part of a role: the mark of the part stands for both. */
const isWhole = (role, cell) => role.parts.some((part) => decisions[rowOf(findings.roles[part], cell)] === 0);

/* Heads that the filter of the answer asks for; null for all. */
function headsOf(asked) {
  if (!asked) return null;
  const codes = (role) => decisions.subarray(rowOf(role, 0), rowOf(role, 0) + perSieve);
  const anyOf = (roles, cell) => roles.some((role) => decisions[rowOf(role, cell)] === 0);
  const every = Array.from({ length: perSieve }, (_, cell) => cell);
  if (asked.decision === "none") return new Set(every.filter((cell) => !anyOf(findings.roles, cell)));
  const role = findings.roles.find((other) => findings.sieves[other.sieve] === asked.sieve);
  if (!role) return null;
  const inside = findings.roles.filter((other) => other.family === role.family);
  const outside = findings.roles.filter((other) => other.family !== role.family);
  if (asked.decision === "family") return new Set(every.filter((cell) => anyOf(inside, cell)));
  if (asked.decision === "only") return new Set(every.filter((cell) => anyOf(inside, cell) && !anyOf(outside, cell)));
  const code = WORDS.indexOf(asked.decision);
  return new Set(every.filter((cell) => codes(role)[cell] === code));
}

const STATES = ["", "–", "?", "×", "~"];
const ABSENT = "0";
const MOST = 15;

function chip(role, cell) {
  return create("i", role.code, `chip tone-${role.tone}${role.strong.has(cell) ? " strong" : ""}`);
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
    const candidates = single ? [single] : findings.roles.filter((role) => !isWhole(role, index));
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
  return `layer ${layerAt(cell)} head ${cell % findings.heads}: ${names || "no role"}`;
}

/* Of one role what it says about the head; of all roles those it holds, and how many are undetermined. */
function tell(cell) {
  const held = findings.roles.filter((role) => decisions[rowOf(role, cell)] === 0 && !isWhole(role, cell));
  const open = findings.roles.filter((role) => decisions[rowOf(role, cell)] === 2).length;
  const names = held.slice(0, 4).map((role) => role.title).join(" · ") + (held.length > 4 ? ` · ${held.length - 4} more` : "");
  const lines = chosen >= 0 ? headMaps.linesOf(headMaps.maps[chosen], cell) : [titleOf(cell), names || "no role", `${open} undetermined`];
  const box = cells[cell].getBoundingClientRect();
  tip.show(box, lines, box);
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
    move(inside(layer + down, findings.layers.length) * findings.heads + inside(head + right, findings.heads));
  } else if (event.key === "Home") move(layer * findings.heads);
  else if (event.key === "End") move(layer * findings.heads + findings.heads - 1);
  else if (event.key === "Enter" || event.key === " ") openCell(cell);
  else return;
  event.preventDefault();
});

function openCell(cell) {
  tip.hide();
  openHead(cell);
}

matrix.addEventListener("focusin", (event) => { if (event.target.matches("td")) tell(cells.indexOf(event.target)); });
matrix.addEventListener("focusout", tip.hide);
matrix.addEventListener("mouseover", (event) => {
  const cell = cells.indexOf(event.target.closest("td"));
  if (cell >= 0) tell(cell);
});
matrix.addEventListener("mouseleave", tip.hide);
matrix.addEventListener("click", (event) => {
  const cell = cells.indexOf(event.target.closest("td"));
  if (cell < 0) return;
  move(cell);
  openCell(cell);
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
document.addEventListener("filter", (event) => {
  const lit = headsOf(event.detail);
  cells.forEach((cell, index) => cell.classList.toggle("dim", lit !== null && !lit.has(index)));
});
/* Maps, marks per head, or one map: one of them is shown. */
const views = { maps: document.getElementById("map-grid"), matrix: document.getElementById("matrix-view"), one: document.getElementById("map-one") };
function chooseView(name) {
  for (const [other, part] of Object.entries(views)) part.hidden = other !== name;
  for (const button of document.querySelectorAll("#view-switch button")) button.setAttribute("aria-pressed", String(button.dataset.view === name));
  document.getElementById("maps-key").hidden = name === "matrix";
  const more = document.getElementById("maps-more");
  if (more) more.parentElement.hidden = name !== "maps";
  headMaps.size();
}
document.getElementById("view-switch").addEventListener("click", (event) => {
  if (event.target.dataset.view) chooseView(event.target.dataset.view);
});
document.getElementById("view-switch").hidden = false;
document.getElementById("matrix-controls").hidden = false;
document.getElementById("matrix-names")?.setAttribute("hidden", "");
paint();
chooseView(findings.roles.length ? "maps" : "matrix");
