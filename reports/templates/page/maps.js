/* Small multiples: one map of layers × heads per role, each drawn as a few paths from the embedded findings. */
const maps = (() => {
  const view = document.getElementById("maps-view");
  const grid = document.getElementById("map-grid");
  const large = document.getElementById("map-large");
  const chooser = document.getElementById("map-role");
  const more = document.getElementById("maps-more");
  const LEVELS = 12;
  const SPACE = "http://www.w3.org/2000/svg";
  /* Width of the numbers of layers, least width of a map, sizes of a cell, roles drawn at once. */
  const [LABELS, LEAST, SMALLEST, LARGEST, FIRST] = [17, 172, 4, 26, 24];
  const PART = 5;
  /* Heads that a filter names at most. */
  const NAMED = 16;
  const drawn = new Map();
  let lit = null;
  let cursor = -1;

  const order = findings.roles.map((_, number) => number);
  if (findings.roles.length > FIRST) order.sort((one, other) => findings.roles[other].count - findings.roles[one].count || one - other);

  /* A role of which the head holds a part is marked by its part alone. */
  function stateOf(role, cell) {
    const code = decisions[rowOf(role, cell)];
    return code === 0 && isWhole(role, cell) ? PART : code;
  }

  const marks = {
    0: (x, y, s) => `M${x + s / 2 - s * 0.17} ${y + s / 2}a${s * 0.17} ${s * 0.17} 0 1 0 ${s * 0.34} 0a${s * 0.17} ${s * 0.17} 0 1 0 ${-s * 0.34} 0z`,
    2: (x, y, s) => `M${x} ${y + s / 2}L${x + s / 2} ${y}M${x} ${y + s}L${x + s} ${y}M${x + s / 2} ${y + s}L${x + s} ${y + s / 2}`,
    3: (x, y, s) => `M${x + s * 0.3} ${y + s * 0.3}l${s * 0.4} ${s * 0.4}m0 ${-s * 0.4}l${-s * 0.4} ${s * 0.4}`,
    4: (x, y, s) => `M${x + s * 0.2} ${y + s * 0.58}q${s * 0.15} ${-s * 0.32} ${s * 0.3} ${-s * 0.08}t${s * 0.3} ${-s * 0.08}`,
    5: (x, y, s) => `M${x + s * 0.5} ${y + s * 0.34}l${s * 0.16} ${s * 0.16}l${-s * 0.16} ${s * 0.16}l${-s * 0.16} ${-s * 0.16}z`,
  };
  const NAMES = { 0: "is-role", 2: "is-open", 3: "is-untestable", 4: "is-explained", 5: "is-part" };

  function element(tag, attributes) {
    const made = document.createElementNS(SPACE, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return made;
  }

  /* Paths of one map by class; cells outside the filter have classes of their own. */
  function pathsOf(number, unit) {
    const role = findings.roles[number];
    const size = unit - (unit > 9 ? 2 : 1);
    const paths = new Map();
    const add = (name, text) => paths.set(name, (paths.get(name) ?? "") + text);
    for (let cell = 0; cell < perSieve; cell += 1) {
      const [x, y] = [LABELS + (cell % findings.heads) * unit, Math.floor(cell / findings.heads) * unit];
      const dim = lit && !lit.has(cell) ? " is-dim" : "";
      const level = Math.round(LEVELS * partOf(number, cell));
      const square = `M${x} ${y}h${size}v${size}h${-size}z`;
      add("is-cell", square);
      if (level) add(`is-shade shade-${level}${dim}`, square);
      const state = stateOf(role, cell);
      if (state === 0) add(`is-held${dim}`, square);
      if (marks[state]) add(`${NAMES[state]}${level > LEVELS * 0.55 && state !== 2 ? " on-dark" : ""}${dim}`, marks[state](x, y, size));
    }
    return paths;
  }

  const RANK = ["is-cell", "is-shade", "is-open", "is-held", "is-role", "is-explained", "is-part", "is-untestable"];

  function paintMap(svg, number, unit, figures) {
    const [width, height] = [LABELS + findings.heads * unit, findings.layers.length * unit];
    svg.setAttribute("width", width);
    svg.setAttribute("height", height + 1);
    svg.setAttribute("class", `map tone-${findings.roles[number].hue}`);
    const parts = [];
    const paths = [...pathsOf(number, unit)].sort(([one], [other]) => RANK.indexOf(one.split(" ")[0]) - RANK.indexOf(other.split(" ")[0]));
    for (const [name, text] of paths) {
      if (!figures || !name.startsWith("is-role")) parts.push(element("path", { class: name, d: text }));
    }
    const step = unit >= 10 ? 1 : Math.ceil(11 / unit);
    for (let layer = 0; layer < findings.layers.length; layer += step) {
      const label = element("text", { x: LABELS - 4, y: layer * unit + unit / 2 + 3.5 });
      label.textContent = findings.layers[layer];
      parts.push(label);
    }
    if (figures) parts.push(...numbersOf(number, unit));
    parts.push(element("path", { class: "is-cursor", d: "" }));
    svg.replaceChildren(...parts);
    drawn.set(svg, { number, unit });
    outline(svg);
  }

  /* Means in the cells of a large map. */
  function numbersOf(number, unit) {
    const role = findings.roles[number];
    return Array.from({ length: perSieve }, (_, cell) => {
      const mean = columns.mean[rowOf(role, cell)];
      const dark = partOf(number, cell) > 0.55;
      const [x, y] = [LABELS + (cell % findings.heads) * unit + unit / 2 - 1, Math.floor(cell / findings.heads) * unit + unit / 2 + 3.5];
      const label = element("text", { x, y, class: `is-number${decisions[rowOf(role, cell)] === 0 ? " is-bold" : ""}${dark ? " on-dark" : ""}${lit && !lit.has(cell) ? " is-dim" : ""}` });
      label.textContent = Number.isNaN(mean) ? "" : mean.toFixed(2).replace("-", "−");
      return label;
    });
  }

  /* The head under the pointer or in focus is outlined in every map. */
  function outline(svg) {
    const { unit } = drawn.get(svg);
    const path = svg.querySelector(".is-cursor");
    if (cursor < 0) return path.setAttribute("d", "");
    const [x, y] = [LABELS + (cursor % findings.heads) * unit, Math.floor(cursor / findings.heads) * unit];
    path.setAttribute("d", `M${x - 0.5} ${y - 0.5}h${unit}v${unit}h${-unit}z`);
  }

  function point(cell) {
    cursor = cell;
    drawn.forEach((_, svg) => outline(svg));
  }

  function titleLine(role) {
    const heading = create("h3");
    const name = createIsolated("span", role.title);
    name.title = findings.sieves[role.sieve];
    heading.append(name, create("span", `${role.count} ${role.count === 1 ? "head" : "heads"}`, "count"));
    return heading;
  }

  function labelFor(role) {
    const held = [];
    for (let cell = 0; cell < perSieve && held.length < 13; cell += 1) if (decisions[rowOf(role, cell)] === 0) held.push(headName(cell));
    const names = role.count > 12 ? `${role.count} heads` : held.join(", ") || "no head";
    return `${role.title}: ${names}. Arrow keys move between heads.`;
  }

  function emptyMap(number) {
    const svg = element("svg", { role: "application", "aria-roledescription": "map of heads", "aria-label": labelFor(findings.roles[number]), tabindex: "-1" });
    svg.dataset.role = number;
    return svg;
  }

  /* A head without marks shows in no map, so the line of the filter names its heads where they are few. */
  function nameHeads() {
    const line = document.getElementById("filtered").firstElementChild;
    if (!lit.size || lit.size > NAMED) return;
    const links = [...lit].map((cell) => Object.assign(create("a", headName(cell)), { href: `#head-${headName(cell)}` }));
    line.append(": ", ...links.flatMap((link, place) => (place ? [", ", link] : [link])));
  }

  function build() {
    const shown = more && !more.hidden ? order.slice(0, FIRST) : order;
    grid.replaceChildren(...shown.map((number) => {
      const box = create("div", undefined, "map-box-of");
      box.append(titleLine(findings.roles[number]), emptyMap(number));
      return box;
    }));
    for (const svg of drawn.keys()) if (!svg.isConnected) drawn.delete(svg);
    const first = grid.querySelector("svg");
    if (first) first.tabIndex = 0;
    size();
  }

  /* As few columns as let all maps stand in the window, as many as fit otherwise. */
  function columnsFor(width, count) {
    const most = Math.max(1, Math.min(count, Math.floor((width + 18) / (LEAST + 18))));
    const free = innerHeight - grid.getBoundingClientRect().top - scrollY - 6;
    for (let wanted = Math.min(most, 3); wanted < most; wanted += 1) {
      if (Math.ceil(count / wanted) * (unitFor(width, wanted) * findings.layers.length + 32) <= free) return wanted;
    }
    return most;
  }

  const unitFor = (width, wanted) => {
    const own = (width - 18 * (wanted - 1)) / wanted;
    return Math.max(SMALLEST, Math.min(LARGEST, Math.floor((own - LABELS) / findings.heads)));
  };

  function size() {
    if (!grid.clientWidth) return;
    const boxes = [...grid.querySelectorAll("svg")];
    const wanted = columnsFor(grid.clientWidth, boxes.length);
    const unit = unitFor(grid.clientWidth, wanted);
    grid.style.setProperty("--columns", wanted);
    for (const svg of boxes) paintMap(svg, Number(svg.dataset.role), unit, false);
  }

  function sizeLarge() {
    if (!large.clientWidth || !findings.roles.length) return;
    const number = Number(chooser.value);
    if (!large.firstElementChild || large.querySelector("svg").dataset.role !== String(number)) {
      const svg = emptyMap(number);
      svg.tabIndex = 0;
      large.replaceChildren(titleLine(findings.roles[number]), svg);
    }
    const fitting = Math.floor((large.clientWidth - LABELS) / findings.heads);
    const unit = Math.max(SMALLEST, Math.min(46, fitting));
    paintMap(large.querySelector("svg"), number, unit, unit >= 30);
  }

  function cellAt(svg, event) {
    const box = svg.getBoundingClientRect();
    const { unit } = drawn.get(svg);
    const [head, layer] = [Math.floor((event.clientX - box.left - LABELS) / unit), Math.floor((event.clientY - box.top) / unit)];
    return head >= 0 && head < findings.heads && layer >= 0 && layer < findings.layers.length ? layer * findings.heads + head : -1;
  }

  function boxOf(svg, cell) {
    const [box, { unit }] = [svg.getBoundingClientRect(), drawn.get(svg)];
    const [left, top] = [box.left + LABELS + (cell % findings.heads) * unit, box.top + Math.floor(cell / findings.heads) * unit];
    return { left, top, right: left + unit, bottom: top + unit };
  }

  function tellAt(svg, cell) {
    point(cell);
    if (cell < 0) tip.hide();
    else tip.show(boxOf(svg, cell), linesOf(findings.roles[Number(svg.dataset.role)], cell));
  }

  function focusMap(svg, cell) {
    for (const other of grid.querySelectorAll("svg[tabindex='0']")) other.tabIndex = -1;
    svg.tabIndex = 0;
    point(cell);
    if (document.activeElement === svg) tellAt(svg, cell);
    else svg.focus();
  }

  function openAt(svg, cell) {
    tip.hide();
    openHead(cell);
    svg.parentElement.scrollIntoView({ block: "nearest" });
  }

  /* Arrow keys move within a map, and over its right or left edge into the next. */
  function walk(event) {
    const svg = event.target.closest("svg.map");
    if (!svg || event.altKey || event.ctrlKey || event.metaKey) return;
    const all = [...svg.closest("#map-grid, #map-large").querySelectorAll("svg")];
    const [place, cell] = [all.indexOf(svg), Math.max(0, cursor)];
    const [layer, head] = [Math.floor(cell / findings.heads), cell % findings.heads];
    const at = (row, column) => row * findings.heads + column;
    const next = (step, column) => (all[place + step] ? focusMap(all[place + step], at(layer, column)) : null);
    if (event.key === "ArrowRight") head + 1 < findings.heads ? focusMap(svg, cell + 1) : next(1, 0);
    else if (event.key === "ArrowLeft") head ? focusMap(svg, cell - 1) : next(-1, findings.heads - 1);
    else if (event.key === "ArrowDown") focusMap(svg, at(Math.min(layer + 1, findings.layers.length - 1), head));
    else if (event.key === "ArrowUp") focusMap(svg, at(Math.max(layer - 1, 0), head));
    else if (event.key === "PageDown") next(1, head);
    else if (event.key === "PageUp") next(-1, head);
    else if (event.key === "Home") focusMap(svg, at(layer, 0));
    else if (event.key === "End") focusMap(svg, at(layer, findings.heads - 1));
    else if (event.key === "Enter" || event.key === " ") openAt(svg, cell);
    else return;
    event.preventDefault();
  }

  for (const host of [grid, large]) {
    host.addEventListener("mousemove", (event) => {
      const svg = event.target.closest("svg.map");
      if (svg) tellAt(svg, cellAt(svg, event));
    });
    host.addEventListener("mouseleave", () => { point(-1); tip.hide(); });
    host.addEventListener("keydown", walk);
    host.addEventListener("focusin", (event) => { if (event.target.matches("svg.map")) tellAt(event.target, Math.max(0, cursor)); });
    host.addEventListener("focusout", tip.hide);
    host.addEventListener("click", (event) => {
      const svg = event.target.closest("svg.map");
      const cell = svg ? cellAt(svg, event) : -1;
      if (cell < 0) return;
      focusMap(svg, cell);
      openAt(svg, cell);
    });
  }

  const views = { maps: view.querySelector("#map-grid"), matrix: document.getElementById("matrix-view"), one: document.getElementById("map-one") };

  function choose(name) {
    for (const [other, part] of Object.entries(views)) part.hidden = other !== name;
    for (const button of document.querySelectorAll("#view-switch button")) button.setAttribute("aria-pressed", String(button.dataset.view === name));
    document.getElementById("maps-key").hidden = name === "matrix";
    if (more) more.parentElement.hidden = name !== "maps";
    if (name === "maps") size();
    if (name === "one") sizeLarge();
  }

  document.getElementById("view-switch").addEventListener("click", (event) => {
    if (event.target.dataset.view) choose(event.target.dataset.view);
  });
  document.getElementById("view-switch").hidden = false;
  chooser?.addEventListener("input", sizeLarge);
  more?.addEventListener("click", () => { more.hidden = true; build(); });
  if (more) more.hidden = false;
  document.addEventListener("filter", (event) => {
    lit = headsOf(event.detail);
    if (lit) nameHeads();
    size();
    sizeLarge();
  });
  document.getElementById("maps-most").textContent = oneScale ? `darkest ${peak.toFixed(2)}` : "darkest at the largest of each role";
  choose(findings.roles.length ? "maps" : "matrix");
  build();
  new ResizeObserver(() => { size(); sizeLarge(); }).observe(view);
  addEventListener("beforeprint", size);
  return { choose, point };
})();
