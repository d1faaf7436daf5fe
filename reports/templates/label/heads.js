/* The list of heads: scores as a row of bars, marks of roles, a sentence; sorted, filtered, a few at a time. */
const headList = (() => {
  const table = document.getElementById("heads-table");
  const field = document.getElementById("heads-filter");
  const status = document.getElementById("heads-shown");
  const [back, on] = ["heads-previous", "heads-next"].map((id) => document.getElementById(id));
  const LINES = 10;
  const BAR = 6;
  const every = Array.from({ length: perSieve }, (_, cell) => cell);
  const held = every.map((cell) => findings.roles.filter((role) => decisions[rowOf(role, cell)] === 0));
  const shown = held.map((roles, cell) => roles.filter((role) => !isWhole(role, cell)));
  const rarity = new Map(findings.roles.map((role) => [role, 1 / Math.max(1, role.count)]));
  const keys = {
    head: (cell) => cell,
    roles: (cell) => shown[cell].length,
    rare: (cell) => shown[cell].reduce((most, role) => Math.max(most, rarity.get(role)), 0),
  };
  let lit = null;
  let sort = "head";
  let direction = 1;
  let start = 0;
  let rows = every;
  let sentences = [];

  /* A bar per role, as high as its mean lies beyond chance; filled where the head holds the role. */
  function bars(cell) {
    const roles = findings.roles.slice(0, 40);
    const svg = shape("svg", { width: roles.length * BAR, height: 20, class: "bars", "aria-hidden": "true" });
    roles.forEach((role, place) => {
      const height = Math.max(1, 18 * headMaps.shadeOf(headMaps.maps[place], cell));
      const kind = decisions[rowOf(role, cell)] === 0 ? `tone-${role.tone} is-held` : "";
      svg.append(shape("rect", { x: place * BAR, y: 19 - height, width: BAR - 2, height, class: kind }));
    });
    return svg;
  }

  function lineOf(cell) {
    const line = create("tr");
    const name = create("th");
    name.scope = "row";
    const link = create("a", headName(cell));
    link.href = `#head-${headName(cell)}`;
    name.append(link);
    const chips = create("td", undefined, "words");
    const group = create("span", undefined, "chips");
    for (const role of shown[cell].slice(0, 12)) {
      const mark = chip(role, cell);
      mark.title = role.title;
      group.append(mark);
    }
    if (shown[cell].length > 12) group.append(create("span", `+${shown[cell].length - 12}`, "count"));
    chips.append(group, create("span", shown[cell].map((role) => role.title).join(", ") || "no role", "unseen"));
    const scores = create("td", undefined, "words");
    scores.append(bars(cell));
    const text = (sentences[cell] ?? "").replace(`${headName(cell)} `, "");
    line.append(name, scores, chips, create("td", text ? text[0].toUpperCase() + text.slice(1) : "", "words wide"));
    return line;
  }

  function select() {
    const terms = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const textOf = (cell) => ` ${headName(cell)} ${held[cell].map((role) => `${findings.sieves[role.sieve]} ${role.title}`).join(" ")} ${sentences[cell] ?? ""} `.toLowerCase();
    rows = every.filter((cell) => (!lit || lit.has(cell))
      && (!terms.length || terms.every((term) => (/\d$/.test(term) ? textOf(cell).includes(` ${term} `) : textOf(cell).includes(term)))));
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
      for (const other of table.tHead.querySelectorAll("th")) other.removeAttribute("aria-sort");
      button.closest("th").setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
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
  return { select };
})();

/* A head named in the rail is opened. */
document.getElementById("go-to")?.addEventListener("submit", (event) => {
  event.preventDefault();
  const [, layer, head] = /^\s*(\d+)\s*[-. ]\s*(\d+)\s*$/.exec(document.getElementById("go-to-head").value)?.map(Number) ?? [];
  const cell = cellNamed(layer, head);
  if (cell >= 0) openHead(cell);
});
