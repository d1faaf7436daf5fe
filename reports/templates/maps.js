/* Maps of all heads, layers as rows and heads as columns, and the panel with the numbers of one head. What they show is
   data: columns of the findings or values of their own, looks by code, and what is told of a head as templates. */

/* Lines beside what they are about: to its right, else to its left, else below or above it, never over it. */
const tip = (() => {
  const element = by("tip");
  const AWAY = 10;
  function show({ top, bottom }, lines, around) {
    element.replaceChildren(...lines.map((line) => html("p", {}, isolated(line))));
    element.hidden = false;
    const [width, height] = [element.offsetWidth, element.offsetHeight];
    const least = (end, wanted) => Math.max(8, Math.min(wanted, end - 8));
    const left = [around.right + AWAY, around.left - width - AWAY].find((start) => start >= 8 && start + width <= innerWidth - 8);
    const under = around.bottom + AWAY + height < innerHeight ? around.bottom + AWAY : around.top - height - AWAY;
    element.style.left = `${left ?? least(innerWidth - width, around.left)}px`;
    element.style.top = `${left === undefined ? Math.max(4, under) : least(innerHeight - height, (top + bottom - height) / 2)}px`;
  }
  const hide = () => { if (element) element.hidden = true; };
  addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  return { show, hide, get shown() { return !element.hidden; } };
})();

const headMaps = (() => {
  const { places, panel } = read("head-maps");
  /* Units of a map that is scaled to its column: of a cell, and of the numbers of layers. */
  const [CELL, SIDE] = [20, 24];
  /* Pixels of a map that fits the window: numbers of layers and of heads, least width, sizes of a cell; maps drawn at once. */
  const [NUMBERS, FOOT, LEAST, SMALLEST, LARGEST, FIRST] = [17, 12, 172, 4, 26, 24];
  /* Heads that a filter names at most. */
  const NAMED = 16;
  const INTERVALS = { mean: ENDS, difference: ["low", "high"] };
  const drawn = new Map();
  let lit = null;
  let cursor = 0;
  let pointed = -1;
  let toldMap = null;

  /* What many have in common is written once. */
  const complete = ({ common, each }) => each.map((own) => {
    const whole = { ...common, ...own };
    return { ...whole, heads: whole.heads && new Set(whole.heads), framed: new Set(whole.framed) };
  });
  for (const place of places) place.maps = complete(place.maps);

  const rowIn = (source, cell) => source.column * perSieve + cell;
  const isAmong = ({ heads }, cell) => !heads || heads.has(cell);
  const codeOf = (source, cell) => source.codes?.[cell] ?? decisions[rowIn(source, cell)];
  const lookOf = (source, cell) => (isAmong(source, cell) && source.looks?.[codeOf(source, cell)]) || {};

  /* A value of a head by its name; of a column with its interval. */
  function valueOf(source, cell, name) {
    if (name === "head") return headName(cell);
    if (name === "title") return source.title;
    if (name === "word") return lookOf(source, cell).word ?? WORDS[codeOf(source, cell)];
    if (source.values && name in source.values) return source.values[name][cell] ?? "";
    const row = rowIn(source, cell);
    const percent = (value) => (Number.isNaN(value) ? "–" : (100 * value).toFixed(1));
    const [number, low = "–", high] = [name, ...(INTERVALS[name] ?? [])].map((of) => (source.percent ? percent(columns[of][row]) : cellText(of, row)));
    return `${number}${source.percent ? " %" : ""}${low === "–" ? "" : ` [${low}, ${high}]`}`;
  }

  /* A template with its values: {name}, or {before|name|after|none}, of which a missing value leaves "none" only. */
  const tell = (source, cell, template) => template.replace(/\{([^}]*)\}/g, (_, field) => {
    const parts = field.split("|");
    const [before, name, after = "", none = before ? "" : "–"] = parts.length > 1 ? parts : ["", field];
    const value = valueOf(source, cell, name);
    return value === "" || value === "–" ? none : before + value + after;
  });
  const linesOf = (source, cell) => (isAmong(source, cell) ? source.lines : source.outside ?? source.lines).map((line) => tell(source, cell, line));

  /* How strong the shade of a head is: 0 to 1. */
  function shadeOf(map, cell) {
    const { shade } = lookOf(map, cell);
    if (shade !== undefined || !map.shade || !isAmong(map, cell)) return shade ?? 0;
    const row = rowIn(map, cell);
    const number = map.shade === "difference" ? Math.abs(columns.difference[row]) : columns.mean[row] - (map.shade === "beyond" ? columns.null[row] || 0 : 0);
    return number > 0 && map.largest > 0 ? Math.min(number / map.largest, 1) : 0;
  }

  const square = (x, y, size, round) => (round
    ? `M${x + round} ${y}h${size - 2 * round}q${round} 0 ${round} ${round}v${size - 2 * round}q0 ${round} ${-round} ${round}h${2 * round - size}q${-round} 0 ${-round} ${-round}v${2 * round - size}q0 ${-round} ${round} ${-round}z`
    : `M${x} ${y}h${size}v${size}h${-size}z`);
  const stripes = (x, y, s) => `M${x} ${y + s / 2}L${x + s / 2} ${y}M${x} ${y + s}L${x + s} ${y}M${x + s / 2} ${y + s}L${x + s} ${y + s / 2}`;
  /* Marks of small maps are drawn, since letters would not be read. */
  const SIGNS = {
    "•": (x, y, s) => `M${x + s / 2 - s * 0.17} ${y + s / 2}a${s * 0.17} ${s * 0.17} 0 1 0 ${s * 0.34} 0a${s * 0.17} ${s * 0.17} 0 1 0 ${-s * 0.34} 0z`,
    "×": (x, y, s) => `M${x + s * 0.3} ${y + s * 0.3}l${s * 0.4} ${s * 0.4}m0 ${-s * 0.4}l${-s * 0.4} ${s * 0.4}`,
    "~": (x, y, s) => `M${x + s * 0.2} ${y + s * 0.58}q${s * 0.15} ${-s * 0.32} ${s * 0.3} ${-s * 0.08}t${s * 0.3} ${-s * 0.08}`,
  };
  const KINDS = { "•": "is-dot", "×": "is-cross", "~": "is-wave" };
  const RANK = ["cell", "shade", "open", "held", "mark"];
  const atOf = ({ unit, side }, cell) => [side + (cell % findings.heads) * unit, Math.floor(cell / findings.heads) * unit];

  /* Draw a map: cells that look alike are one path. */
  function paint(svg) {
    const { map, unit, side, fitted, numbers } = drawn.get(svg);
    const [width, height] = [side + findings.heads * unit, findings.layers.length * unit + (fitted ? FOOT : 14)];
    const [size, start, round] = fitted ? [unit - (unit > 9 ? 2 : 1), 0, 0] : [unit - 2, 0.5, 2];
    const [paths, texts] = [new Map(), []];
    const add = (name, path) => paths.set(name, (paths.get(name) ?? "") + path);
    for (const cell of every) {
      const [x, y] = atOf(drawn.get(svg), cell).map((place) => place + start);
      const { kind = "", mark = "", open, held } = lookOf(map, cell);
      const [level, box] = [shadeOf(map, cell).toFixed(2), square(x, y, size, round)];
      const way = map.shade === "difference" ? (columns.difference[rowIn(map, cell)] > 0 ? " up" : " down") : "";
      const dim = lit && !lit.has(cell) ? " is-dim" : "";
      const ends = `${fitted && level > 0.55 ? " on-dark" : ""}${dim}`;
      add("cell", box);
      if (level > 0) add(`shade${way} ${kind}${dim}|${level}`, box);
      if (open) add(`open${dim}`, stripes(x, y, size));
      if (held || map.framed.has(cell)) add(`held${map.framed.has(cell) ? " framed" : ""}${dim}`, box);
      if (fitted && mark && !(numbers && mark === "•")) add(`mark ${KINDS[mark]}${ends}`, SIGNS[mark](x, y, size));
      else if (mark && !fitted) texts.push(shape("text", { class: "mark", x: x + size / 2 + 0.5, y: y + size / 2 + 0.5 }, mark));
      if (numbers) {
        const mean = columns.mean[rowIn(map, cell)];
        const text = Number.isNaN(mean) ? "" : signed(mean.toFixed(2));
        texts.push(shape("text", { class: `is-number${held ? " is-bold" : ""}${ends}`, x: x + unit / 2 - 1, y: y + unit / 2 + 3.5 }, text));
      }
    }
    const ordered = [...paths].sort(([one], [other]) => RANK.indexOf(one.split(/[ |]/)[0]) - RANK.indexOf(other.split(/[ |]/)[0]));
    const parts = ordered.map(([name, d]) => {
      const [kind, level] = name.split("|");
      return shape("path", { class: kind, "fill-opacity": level, d });
    });
    const few = (count) => (count <= 16 ? 1 : 4);
    const step = fitted ? (unit >= 10 ? 1 : Math.ceil(11 / unit)) : few(findings.layers.length);
    /* Every step-th number of an axis, each at its place. */
    const axis = (count, every, anchor, nameOf, placeOf) => shape("text", { class: "axis", "text-anchor": anchor },
      Array.from({ length: Math.ceil(count / every) }, (_, number) => shape("tspan", placeOf(number * every), nameOf(number * every))));
    parts.push(
      axis(findings.layers.length, step, "end", (layer) => findings.layers[layer], (layer) => ({ x: side - (fitted ? 4 : 5), y: layer * unit + unit / 2 + 3 + start })),
      axis(findings.heads, fitted ? Math.ceil(13 / unit) : few(findings.heads), "middle", (head) => head, (head) => ({ x: side + unit * head + (fitted ? size / 2 : 9), y: height - 2 })),
    );
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    if (fitted) svg.style.width = `${width}px`;
    svg.replaceChildren(...parts, ...texts, shape("path", { class: "at", d: "" }));
    ring(svg);
  }

  /* The head under the pointer or in focus is outlined in every map. */
  function ring(svg) {
    const [x, y] = atOf(drawn.get(svg), pointed);
    const { unit, fitted } = drawn.get(svg);
    svg.querySelector(".at").setAttribute("d", pointed < 0 ? "" : square(x - (fitted ? 0.5 : 0), y - (fitted ? 0.5 : 0), unit - (fitted ? 0 : 1), 0));
  }

  function point(cell) {
    pointed = cell;
    if (cell >= 0) cursor = cell;
    for (const svg of drawn.keys()) ring(svg);
  }

  function figure(map, look) {
    const first = look.fitted && map.name !== map.title ? html("small", {}, ` (${map.name})`) : [];
    const title = html("bdi", {}, map.title, first);
    const label = map.label ?? `${map.title}: map of ${findings.layers.length} layers and ${findings.heads} heads; ${map.note}. Arrow keys read the heads.`;
    const svg = shape("svg", {
      role: "application", "aria-label": label, tabindex: look.fitted ? -1 : 0, "aria-roledescription": look.fitted ? "map of heads" : undefined,
      class: map.tone === undefined ? undefined : `toned tone-${map.tone}`,
    });
    drawn.set(svg, { map, ...look });
    return html("div", { class: "map" }, html("h3", {}, title, html("span", { class: "count" }, map.note ?? "")), svg);
  }

  /* What is painted where a place had other maps before. */
  function replace(all, figures) {
    all.replaceChildren(...figures);
    for (const svg of drawn.keys()) if (!svg.isConnected) drawn.delete(svg);
  }

  function tellAt(svg, cell) {
    point(cell);
    if (cell < 0) return tip.hide();
    toldMap = svg;
    const { map, unit, fitted } = drawn.get(svg);
    const box = svg.getBoundingClientRect();
    const scale = box.width / svg.viewBox.baseVal.width;
    const [x, y] = atOf(drawn.get(svg), cell);
    const own = { left: box.left + scale * x, top: box.top + scale * y, right: box.left + scale * (x + unit), bottom: box.top + scale * (y + unit) };
    tip.show(own, linesOf(map, cell), fitted ? own : box);
  }

  function cellAt(svg, event) {
    const box = svg.getBoundingClientRect();
    const { unit, side } = drawn.get(svg);
    const scale = svg.viewBox.baseVal.width / box.width;
    const [head, layer] = [Math.floor(((event.clientX - box.left) * scale - side) / unit), Math.floor(((event.clientY - box.top) * scale) / unit)];
    return head >= 0 && head < findings.heads && layer >= 0 && layer < findings.layers.length ? layer * findings.heads + head : -1;
  }

  function focusMap(svg, cell) {
    /* Maps that stand together are one stop of the tab key. */
    if (drawn.get(svg).fitted) for (const other of svg.closest(".fitted").querySelectorAll("svg")) other.tabIndex = other === svg ? 0 : -1;
    point(cell);
    if (document.activeElement === svg) tellAt(svg, cell);
    else svg.focus();
  }

  function openAt(svg, cell) {
    tip.hide();
    if (panel) openPanel(cell);
    else openHead(cell);
    svg.parentElement.scrollIntoView({ block: "nearest" });
  }

  /* Arrow keys move within a map, and over its right or left edge into the next. */
  function walk(event, host) {
    const svg = event.target.closest("svg");
    if (!drawn.has(svg) || event.altKey || event.ctrlKey || event.metaKey) return;
    const all = [...host.querySelectorAll("svg")];
    const [place, layer, head] = [all.indexOf(svg), Math.floor(cursor / findings.heads), cursor % findings.heads];
    const [down, right] = [findings.layers.length - 1, findings.heads - 1];
    const at = (row, column) => focusMap(svg, row * findings.heads + column);
    const next = (step, column) => (all[place + step] ? focusMap(all[place + step], layer * findings.heads + column) : null);
    const moves = {
      ArrowRight: () => (head < right ? at(layer, head + 1) : next(1, 0)), ArrowLeft: () => (head ? at(layer, head - 1) : next(-1, right)),
      ArrowDown: () => at(Math.min(layer + 1, down), head), ArrowUp: () => at(Math.max(layer - 1, 0), head),
      PageDown: () => next(1, head), PageUp: () => next(-1, head), Home: () => at(layer, 0), End: () => at(layer, right),
      Enter: () => openAt(svg, cursor), " ": () => openAt(svg, cursor),
    };
    if (!(event.key in moves)) return;
    moves[event.key]();
    event.preventDefault();
  }

  /* Let pointer and keys read the maps of a host, and a click or Enter open a head. */
  function listenTo(host) {
    const mapOf = (event) => event.target.closest(".map svg");
    host.addEventListener("pointermove", (event) => { if (mapOf(event)) tellAt(mapOf(event), cellAt(mapOf(event), event)); });
    host.addEventListener("pointerout", (event) => { if (mapOf(event) && !mapOf(event).contains(event.relatedTarget)) tellAt(mapOf(event), -1); });
    host.addEventListener("keydown", (event) => walk(event, host));
    host.addEventListener("focusin", (event) => { if (event.target.matches(".map svg:focus-visible")) tellAt(event.target, cursor); });
    host.addEventListener("focusout", tip.hide);
    host.addEventListener("click", (event) => {
      const svg = mapOf(event);
      const cell = svg ? cellAt(svg, event) : -1;
      if (cell < 0) return;
      focusMap(svg, cell);
      openAt(svg, cell);
    });
  }

  /* Maps that are scaled to their column; the field of choice shows one alone, and so does a sentence of the answer, or dims the others. */
  function fill(place) {
    const box = by(place.id);
    const [all, pick] = [box.querySelector(".maps-all"), box.querySelector("select")];
    const first = place.maps.filter((map) => !map.hidden);
    if (findings.heads > 16) all.style.setProperty("--map-width", `${Math.min(16 * findings.heads, 480)}px`);
    function draw() {
      const list = pick && pick.value !== "" ? [place.maps[Number(pick.value)]] : first;
      all.classList.toggle("alone", list.length === 1);
      replace(all, list.map((map) => figure(map, { unit: CELL, side: SIDE })));
      all.querySelectorAll("svg").forEach(paint);
    }
    pick?.addEventListener("input", draw);
    document.addEventListener("filter", ({ detail }) => {
      const number = detail ? place.maps.findIndex((map) => map.name === detail.sieve) : -1;
      if (pick) {
        pick.value = number < 0 ? "" : String(number);
        draw();
      }
      [...all.children].forEach((map, at) => map.classList.toggle("dimmed", !pick && number >= 0 && first[at].name !== detail.sieve));
    });
    box.hidden = false;
    listenTo(all);
    draw();
  }

  /* Maps as large as lets all of them stand in the window, and one of them large, with its numbers. */
  function fit({ maps, order, scale }) {
    const [grid, large, chooser, more] = ["map-grid", "map-large", "map-role", "maps-more"].map(by);
    const unitFor = (width, wanted) => Math.max(SMALLEST, Math.min(LARGEST, Math.floor(((width - 18 * (wanted - 1)) / wanted - NUMBERS) / findings.heads)));
    function build() {
      const chosen = more && !more.hidden ? order.slice(0, FIRST) : order;
      replace(grid, chosen.map((number) => figure(maps[number], { unit: SMALLEST, side: NUMBERS, fitted: true })));
      if (maps.length) grid.querySelector("svg").tabIndex = 0;
      size();
    }
    /* As few columns as let all maps stand in the window, as many as fit otherwise. */
    function columnsFor(width, count) {
      const most = Math.max(1, Math.min(count, Math.floor((width + 18) / (LEAST + 18))));
      const free = innerHeight - grid.getBoundingClientRect().top - scrollY - 6;
      for (let wanted = Math.min(most, 3); wanted < most; wanted += 1) {
        if (Math.ceil(count / wanted) * (unitFor(width, wanted) * findings.layers.length + 32 + FOOT) <= free) return wanted;
      }
      return most;
    }
    function size() {
      const boxes = [...grid.querySelectorAll("svg")];
      if (grid.clientWidth && boxes.length) {
        const wanted = columnsFor(grid.clientWidth, boxes.length);
        grid.style.setProperty("--columns", wanted);
        for (const svg of boxes) Object.assign(drawn.get(svg), { unit: unitFor(grid.clientWidth, wanted) });
        boxes.forEach(paint);
      }
      if (!large.clientWidth || !maps.length) return;
      const unit = Math.max(SMALLEST, Math.min(46, Math.floor((large.clientWidth - NUMBERS) / findings.heads)));
      const map = maps[Number(chooser.value)];
      const look = { unit, side: NUMBERS, fitted: true, numbers: unit >= 30 };
      if (drawn.get(large.querySelector("svg"))?.map !== map) replace(large, [figure(map, look)]);
      large.querySelector("svg").tabIndex = 0;
      Object.assign(drawn.get(large.querySelector("svg")), look);
      paint(large.querySelector("svg"));
    }
    /* A head without marks shows in no map, so the line of the filter names its heads where they are few. */
    function nameHeads() {
      if (!lit.size || lit.size > NAMED) return;
      const links = [...lit].map(linkTo);
      by("filtered").firstElementChild.append(": ", ...links.flatMap((link, at) => (at ? [", ", link] : [link])));
    }
    chooser?.addEventListener("input", size);
    more?.addEventListener("click", () => { more.hidden = true; build(); });
    if (more) more.hidden = false;
    document.addEventListener("filter", ({ detail }) => {
      lit = headsOf(detail);
      if (lit) nameHeads();
      size();
    });
    by("maps-most").textContent = scale;
    for (const host of [grid, large]) listenTo(host);
    build();
    new ResizeObserver(size).observe(by("maps-view"));
    addEventListener("beforeprint", size);
    return size;
  }

  /* The panel of one head: rows of a name, a value and a decision; those that the head holds stand out. */
  const rows = panel ? complete(panel.rows) : [];
  const holdsIn = (row, cell) => (row.heads ? row.heads.has(cell) : !row.plain && decisions[rowIn(row, cell)] === 0);
  function panelRows(cell) {
    const listed = rows.filter((row) => !row.plain || !Number.isNaN(columns.mean[rowIn(row, cell)]));
    const rank = (row) => (holdsIn(row, cell) ? 2 : 0) + (Number.isNaN(columns.mean[rowIn(row, cell)]) ? -1 : columns.mean[rowIn(row, cell)]);
    if (panel.ranked) listed.sort((one, other) => rank(other) - rank(one));
    return [...listed.map((row) => [row.title, ...linesOf(row, cell), holdsIn(row, cell)]), ...(panel.own[cell] ?? [])];
  }

  function openPanel(cell) {
    const lines = panelRows(cell);
    const told = panel.sentences[cell] ?? panel.sentence;
    by("head-name").textContent = `Head ${headName(cell)}`;
    by("head-told").textContent = told.replace("{held}", lines.filter((line) => line[3]).length);
    side.element.querySelector("tbody").replaceChildren(...lines.map(([name, value, decision, held]) => {
      const cells = [html("th", { scope: "row" }, isolated(name)), html("td", {}, value), html("td", { class: "words" }, decision)];
      return html("tr", { class: held ? "held" : undefined }, cells);
    }));
    side.show();
    setHash(`#head-${headName(cell)}`);
    by("head-name").focus({ preventScroll: true });
  }

  function follow() {
    if (addressed() >= 0) openPanel(addressed());
  }

  /* Lines of the map in focus stay beside it while the page scrolls to it. */
  addEventListener("scroll", () => {
    if (tip.shown && toldMap === document.activeElement && pointed >= 0) tellAt(toldMap, pointed);
    else tip.hide();
  }, { passive: true });

  let size = () => {};
  for (const place of places) {
    if (place.order) size = fit(place);
    else fill(place);
  }
  if (panel) {
    by("head-close").addEventListener("click", side.close);
    side.element.addEventListener("close", () => setHash(""));
    addEventListener("hashchange", follow);
    follow();
  }
  return { linesOf, shadeOf, size: () => size(), maps: places[0]?.maps ?? [] };
})();
