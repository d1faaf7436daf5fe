/* The label matrix: the marks of a head's roles, filters, three lines on hover or focus, the panel of a head on a click. */
/* Whether a head holds a part of a role: the mark of the part stands for both. */
const isWhole = (role, cell) => role.parts.some((part) => holds(findings.roles[part], cell));
const heldBy = (cell) => findings.roles.filter((role) => holds(role, cell));
const chip = (role, cell) => html("i", { class: `chip tone-${role.tone}${role.strong.has(cell) ? " strong" : ""}` }, role.code);

{
  const matrix = by("matrix");
  const cells = [...matrix.tBodies[0].querySelectorAll("td")];
  const buttons = [...document.querySelectorAll("#matrix-controls [data-role]")];
  const [limit, picker, least, farthest, key] = ["matrix-q", "matrix-role", "matrix-stability", "matrix-effect", "matrix-key"].map(by);
  const many = "many" in matrix.dataset;
  const STATES = ["", "–", "▨", "×", "~"];
  const ABSENT = "0";
  const MOST = 15;
  let current = 0;
  let chosen = -1;

  /* The shade of every head in one role: 0 at chance or below, 1 at the largest mean. */
  function depths(role) {
    const means = every.map((cell) => columns.mean[rowOf(role, cell)]);
    const chance = columns.null[rowOf(role, 0)] || 0;
    const largest = means.reduce((most, mean) => (mean > most ? mean : most), chance);
    return means.map((mean) => (mean > chance && largest > chance ? (mean - chance) / (largest - chance) : 0));
  }

  /* Marks of all roles, what is decided of one, or, of too many roles for marks, how many of them a head holds. */
  function paint() {
    const [most, fewest, beyond] = [limit, least, farthest].map(typedNumber);
    const passes = (role, cell) => {
      const row = rowOf(role, cell);
      return holds(role, cell) && !(columns.q[row] > most) && !(least && columns.stability[row] < fewest)
        && (Number.isNaN(beyond) || columns.effect[row] >= beyond);
    };
    const single = findings.roles[chosen];
    const held = every.map((cell) => findings.roles.filter((role) => passes(role, cell)));
    const largest = Math.max(...held.map((roles) => roles.length), 1);
    const shades = single ? depths(single) : held.map((roles) => (many ? roles.length / largest : 0));
    const marksOf = (cell) => {
      if (!single && many) return [html("span", { class: "tally" }, String(held[cell].length || ""))];
      if (!single) return held[cell].filter((role) => !isWhole(role, cell)).map((role) => chip(role, cell));
      const code = decisions[rowOf(single, cell)];
      if (passes(single, cell)) return [many ? html("span", { class: "state" }, "•") : chip(single, cell)];
      return code > 0 ? [html("span", { class: "state" }, single.absent.has(cell) ? ABSENT : STATES[code])] : [];
    };
    matrix.classList.toggle("shaded", many || Boolean(single));
    key.hidden = !single;
    cells.forEach((element, cell) => {
      element.replaceChildren(html("span", { class: "marks" }, marksOf(cell)));
      element.style.setProperty("--depth", single || many ? (0.55 * shades[cell]).toFixed(3) : "0");
      const names = held[cell].map((role) => role.title + (role.strong.has(cell) ? ` beyond ${role.stronger}` : ""));
      const told = names.length > MOST ? `${names.length} roles` : names.join(", ");
      element.setAttribute("aria-label", `layer ${layerAt(cell)} head ${cell % findings.heads}: ${told || "no role"}`);
    });
  }

  /* Of one role what it says about the head; of all roles those it holds, and how many are undetermined. */
  function tell(cell) {
    const held = heldBy(cell).filter((role) => !isWhole(role, cell));
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

  function openCell(cell) {
    tip.hide();
    openHead(cell);
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
  const cellAt = (event) => cells.indexOf(event.target.closest("td"));
  for (const name of ["focusin", "mouseover"]) matrix.addEventListener(name, (event) => { if (cellAt(event) >= 0) tell(cellAt(event)); });
  for (const name of ["focusout", "mouseleave"]) matrix.addEventListener(name, tip.hide);
  matrix.addEventListener("click", (event) => {
    const cell = cellAt(event);
    if (cell < 0) return;
    move(cell);
    openCell(cell);
  });
  function choose(role) {
    chosen = Number(role);
    press(buttons, (button) => button.dataset.role === role);
    paint();
  }
  for (const button of buttons) button.addEventListener("click", () => choose(button.dataset.role));
  picker?.addEventListener("input", () => choose(picker.value));
  for (const bound of [limit, least, farthest]) bound?.addEventListener("input", paint);
  document.addEventListener("filter", (event) => {
    const lit = headsOf(event.detail);
    cells.forEach((cell, index) => cell.classList.toggle("dim", lit !== null && !lit.has(index)));
  });
  by("matrix-controls").hidden = false;
  by("matrix-names")?.setAttribute("hidden", "");
  paint();
}

/* Maps, marks per head, or one map: one of them is shown. */
{
  const views = { maps: by("map-grid"), matrix: by("matrix-view"), one: by("map-one") };
  const choose = (name) => {
    for (const [other, part] of Object.entries(views)) part.hidden = other !== name;
    press(document.querySelectorAll("#view-switch button"), (button) => button.dataset.view === name);
    by("maps-key").hidden = name === "matrix";
    const more = by("maps-more");
    if (more) more.parentElement.hidden = name !== "maps";
    headMaps.size();
  };
  by("view-switch").addEventListener("click", (event) => { if (event.target.dataset.view) choose(event.target.dataset.view); });
  by("view-switch").hidden = false;
  choose(findings.roles.length ? "maps" : "matrix");
}

/* The list of heads: scores as a row of bars, marks of roles, a sentence; sorted, filtered, a few at a time. */
{
  const [table, field, status, back, on] = ["heads-table", "heads-filter", "heads-shown", "heads-previous", "heads-next"].map(by);
  const LINES = 8;
  const BAR = 6;
  const [MOST_BARS, MOST_CHIPS] = [40, 12];
  const held = every.map(heldBy);
  const shown = held.map((roles, cell) => roles.filter((role) => !isWhole(role, cell)));
  const keys = {
    head: (cell) => cell,
    roles: (cell) => shown[cell].length,
    rare: (cell) => Math.max(0, ...shown[cell].map((role) => 1 / Math.max(1, role.count))),
  };
  let lit = null;
  let sort = "head";
  let direction = 1;
  let start = 0;
  let rows = every;
  let sentences = [];

  /* A bar per role, as high as its mean lies beyond chance; filled where the head holds the role. */
  function bars(cell) {
    const roles = findings.roles.slice(0, MOST_BARS);
    return shape("svg", { width: roles.length * BAR, height: 20, class: "bars", "aria-hidden": "true" }, roles.map((role, place) => {
      const height = Math.max(1, 18 * headMaps.shadeOf(headMaps.maps[place], cell));
      return shape("rect", { x: place * BAR, y: 19 - height, width: BAR - 2, height, class: holds(role, cell) ? `tone-${role.tone} is-held` : "" });
    }));
  }

  function lineOf(cell) {
    const more = shown[cell].length - MOST_CHIPS;
    const chips = shown[cell].slice(0, MOST_CHIPS).map((role) => Object.assign(chip(role, cell), { title: role.title }));
    const text = (sentences[cell] ?? "").replace(`${headName(cell)} `, "");
    return html("tr", {},
      html("th", { scope: "row" }, linkTo(cell)),
      html("td", { class: "words" }, bars(cell)),
      html("td", { class: "words" }, html("span", { class: "chips" }, chips, more > 0 ? html("span", { class: "count" }, `+${more}`) : []),
        html("span", { class: "unseen" }, shown[cell].map((role) => role.title).join(", ") || "no role")),
      html("td", { class: "words wide" }, text && text[0].toUpperCase() + text.slice(1)));
  }

  function select() {
    const terms = roleTerms(field);
    const textOf = (cell) => ` ${headName(cell)} ${held[cell].length ? sentences[cell] ?? "" : NO_ROLE} ${held[cell].map(roleWords).join(" ")} `.toLowerCase();
    rows = every.filter((cell) => (!lit || lit.has(cell)) && (!terms.length || isFound(terms, textOf(cell))));
    sortRows(rows, keys[sort], direction);
    start = 0;
    list();
  }

  function list() {
    table.tBodies[0].replaceChildren(...rows.slice(start, start + LINES).map(lineOf));
    const end = Math.min(start + LINES, rows.length);
    status.textContent = rows.length ? `Heads ${start + 1}–${end} of ${rows.length.toLocaleString("en")}` : "No head matches.";
    back.disabled = start === 0;
    on.disabled = end >= rows.length;
  }

  for (const button of table.tHead.querySelectorAll("button")) {
    button.addEventListener("click", () => {
      direction = sort === button.dataset.sort ? -direction : button.dataset.sort === "head" ? 1 : -1;
      sort = button.dataset.sort;
      markSorted(table, button.closest("th"), direction);
      select();
    });
  }
  table.tBodies[0].addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (!link) return;
    event.preventDefault();
    openHead(cellNamed(...link.hash.split("-").slice(1)));
  });
  back.addEventListener("click", () => { start -= LINES; list(); });
  on.addEventListener("click", () => { start += LINES; list(); });
  field.addEventListener("input", select);
  document.addEventListener("filter", (event) => { lit = headsOf(event.detail); select(); });
  for (const part of document.querySelectorAll("#heads [hidden]")) part.hidden = false;
  select();
  cards.sentences().then((told) => { sentences = told; select(); });
}

/* A head named in the rail is opened: 2-8, L2H8 or 2.8. */
by("go-to").addEventListener("submit", (event) => {
  event.preventDefault();
  const given = by("go-to-head").value;
  const [, first, other, head] = /^\s*(?:l\s*(\d+)\s*h|(\d+)\s*[-. ])\s*(\d+)\s*$/i.exec(given) ?? [];
  const cell = cellNamed(first ?? other, head);
  by("go-to-told").textContent = cell >= 0 ? "" : `No head is called “${given}”. Heads are ${headName(0)} to ${headName(perSieve - 1)}, as in 2-8 or L2H8.`;
  if (cell >= 0) openHead(cell);
});
