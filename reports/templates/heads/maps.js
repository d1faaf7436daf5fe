/* Maps of all heads, layers as rows and heads as columns, and a panel with the numbers of one head. */
const CELL = 20;
const SIDE = 24;
const told = document.getElementById("maps-told");

function shape(tag, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

/* The look of a cell by its mean and decision; marks by the code of the decision. */
function decidedLook({ sieve, largest }, cell, marks = { 0: "•" }) {
  const row = sieve * perSieve + cell;
  const [mean, decision] = [columns.mean[row], decisions[row]];
  return { shade: mean > 0 && largest > 0 ? mean / largest : 0, held: decision === 0, mark: marks[decision] ?? "", open: decision === 2 };
}

const atOf = (cell) => [SIDE + CELL * (cell % findings.heads), CELL * Math.floor(cell / findings.heads)];

/* The drawing of one map. A look has a shade from 0 to 1 with its class, a mark, and whether the cell is held or open. */
function mapDrawing(map, look) {
  const [width, height] = [SIDE + CELL * findings.heads, CELL * findings.layers.length + 14];
  const drawing = shape("svg", {
    viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: "application",
    "aria-label": `${map.title}: map of ${findings.layers.length} layers and ${findings.heads} heads; ${map.note}. Arrow keys read the heads.`,
  });
  const every = findings.heads <= 16 ? 1 : 4;
  for (let layer = 0; layer < findings.layers.length; layer += findings.layers.length <= 16 ? 1 : 4) {
    drawing.append(shape("text", { class: "axis", x: SIDE - 5, y: CELL * layer + 13, "text-anchor": "end" }, findings.layers[layer]));
  }
  for (let head = 0; head < findings.heads; head += every) {
    drawing.append(shape("text", { class: "axis", x: SIDE + CELL * head + 9, y: height - 2, "text-anchor": "middle" }, head));
  }
  for (let cell = 0; cell < perSieve; cell += 1) {
    const [x, y] = atOf(cell);
    const box = { x: x + 0.5, y: y + 0.5, width: CELL - 2, height: CELL - 2, rx: 2 };
    const { shade, kind = "", mark = "", held, open } = look(map, cell);
    drawing.append(shape("rect", { class: "cell", ...box }));
    if (shade > 0) drawing.append(shape("rect", { class: `shade ${kind}`, "fill-opacity": Math.min(shade, 1).toFixed(2), ...box }));
    if (open) drawing.append(shape("rect", { class: "open", ...box }));
    if (held) drawing.append(shape("rect", { class: "held", ...box }));
    if (mark) drawing.append(shape("text", { class: "mark", x: x + CELL / 2 - 0.5, y: y + CELL / 2 }, mark));
  }
  return drawing;
}

/* The lines about a cell, in its row at the right or left of the map, else below the map: never over it. */
function showLines(drawing, cell, lines) {
  const box = drawing.getBoundingClientRect();
  const row = box.top + (atOf(cell)[1] * box.width) / drawing.viewBox.baseVal.width;
  told.replaceChildren(...lines.map((line) => create("span", line)));
  told.hidden = false;
  const width = told.offsetWidth;
  const room = document.documentElement.clientWidth - 4;
  const right = box.right + 8;
  const left = box.left - width - 8;
  const aside = right + width < room ? right : left > 4 ? left : null;
  told.style.left = `${aside ?? Math.max(4, Math.min(box.left, room - width))}px`;
  told.style.top = `${Math.max(4, Math.min(aside === null ? box.bottom + 4 : row, innerHeight - told.offsetHeight - 4))}px`;
}

/* Let pointer and arrow keys read a map, and Enter or a click choose a head. */
function readable(drawing, map, lines, choose) {
  let at = 0;
  const ring = shape("rect", { class: "at", width: CELL - 1, height: CELL - 1, rx: 2 });
  function move(cell) {
    at = cell;
    const [x, y] = atOf(cell);
    ring.setAttribute("x", x);
    ring.setAttribute("y", y);
    drawing.append(ring);
    showLines(drawing, cell, lines(map, cell));
  }
  function leave() {
    ring.remove();
    told.hidden = true;
  }
  function cellUnder(event) {
    const box = drawing.getBoundingClientRect();
    const scale = drawing.viewBox.baseVal.width / box.width;
    const head = Math.floor(((event.clientX - box.left) * scale - SIDE) / CELL);
    const layer = Math.floor(((event.clientY - box.top) * scale) / CELL);
    const inside = head >= 0 && head < findings.heads && layer >= 0 && layer < findings.layers.length;
    return inside ? layer * findings.heads + head : -1;
  }
  drawing.addEventListener("pointermove", (event) => {
    const cell = cellUnder(event);
    if (cell < 0) leave();
    else move(cell);
  });
  drawing.addEventListener("pointerleave", leave);
  drawing.addEventListener("focus", () => { if (drawing.matches(":focus-visible")) move(at); });
  drawing.addEventListener("blur", leave);
  drawing.addEventListener("click", (event) => {
    const cell = cellUnder(event);
    if (cell >= 0) choose(cell);
  });
  drawing.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: findings.heads, ArrowUp: -findings.heads };
    if (event.key in steps) {
      const next = at + steps[event.key];
      if (next >= 0 && next < perSieve) move(next);
      event.preventDefault();
    } else if (event.key === "Enter") choose(at);
    else if (event.key === "Escape") leave();
  });
}

/* Fill a place with maps. Those with a number in "shown" stand there at first; the field of choice shows one alone.
   describe.look(map, cell) and describe.lines(map, cell) say what a cell shows and what is read about it. */
function headMaps(place, maps, describe, choose) {
  const all = place.querySelector(".maps-all");
  const pick = place.querySelector("select");
  const shown = maps.filter((map) => map.shown !== false);
  if (findings.heads > 16) all.style.setProperty("--map-width", `${Math.min(16 * findings.heads, 480)}px`);

  function figure(map) {
    const element = create("div", undefined, "map");
    const heading = create("h3");
    heading.append(create("bdi", map.title), create("span", map.note, "count"));
    const drawing = mapDrawing(map, describe.look);
    readable(drawing, map, describe.lines, choose);
    element.append(heading, drawing);
    element.dataset.name = map.name;
    return element;
  }

  function draw() {
    const list = pick && pick.value !== "" ? [maps[Number(pick.value)]] : shown;
    all.classList.toggle("alone", list.length === 1);
    all.replaceChildren(...list.map(figure));
  }
  pick?.addEventListener("input", draw);
  /* Decisions have words of their own in the table of some pages. */
  document.addEventListener("filter", ({ detail }) => {
    if (typeof filterTable !== "function" || !detail) return;
    filterTable({ sieve: detail.sieve, decision: WORDS[findings.decisions.indexOf(detail.decision)] });
  });
  /* A sentence of the answer shows the map of its column alone, or dims the others. */
  document.addEventListener("filter", ({ detail }) => {
    const number = detail ? maps.findIndex((map) => map.name === detail.sieve) : -1;
    if (pick) {
      pick.value = number < 0 ? "" : String(number);
      draw();
    }
    for (const map of all.children) map.classList.toggle("dimmed", !pick && number >= 0 && map.dataset.name !== detail.sieve);
  });
  place.hidden = false;
  draw();
}

/* The panel of one head: rows have a name, a value, a decision, and whether they stand out. */
function headPanel(rowsOf, tell = () => "") {
  const panel = side.element;
  const body = panel.querySelector("tbody");
  function open(cell) {
    document.getElementById("head-name").textContent = `Head ${headName(cell)}`;
    document.getElementById("head-told").textContent = tell(cell);
    body.replaceChildren(...rowsOf(cell).map(({ name, value, decision, held }) => {
      const row = create("tr", undefined, held ? "held" : "");
      const heading = createIsolated("th", name);
      heading.scope = "row";
      row.append(heading, create("td", value), create("td", decision, "words"));
      return row;
    }));
    side.show();
    setHash(`#head-${headName(cell)}`);
    document.getElementById("head-name").focus({ preventScroll: true });
  }
  function follow() {
    const [, layer, head] = /^#head-(\d+)-(\d+)$/.exec(location.hash) ?? [];
    const cell = cellNamed(layer, head);
    if (cell >= 0) {
      open(cell);
    }
  }
  document.getElementById("head-close").addEventListener("click", () => side.close());
  panel.addEventListener("close", () => setHash(""));
  addEventListener("hashchange", follow);
  follow();
  return open;
}
