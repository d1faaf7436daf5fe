{
  const { layers, heads, size, words, roles, sentences } = JSON.parse(by("data").textContent);
  const EXPLAINED = 4, STEPS = 1000;
  const STATES = ["held", "", "open", "none", "", ""], SIGNS = ["•", "", "", "×", "~", ""];
  const MOVES = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -heads, ArrowDown: heads };
  const card = by("card"), sentence = by("sentence");
  const usual = sentence.textContent;
  const maps = [];
  let pinned = -1, marked = -1;

  const numbers = (text) => text.split(" ").map((part) => (part === "" ? NaN : Number(part) / STEPS));
  const shown = (value) => {
    if (Number.isNaN(value)) return "–";
    const text = Math.abs(value).toFixed(Math.abs(value) >= 0.05 ? 2 : 3);
    return (value < 0 && Number(text) ? "−" : "") + text;
  };
  const nameOf = (cell) => `${layers[Math.floor(cell / heads)]}-${cell % heads}`;
  const linesOf = (role, cell) => {
    const [center, code] = [role.means[cell], Number(role.code[cell])];
    const ends = `[${shown(center - role.low[cell])}, ${shown(center + role.high[cell])}]`;
    const numbersOf = Number.isNaN(center) ? "no score" : `${shown(center)} ${ends}, threshold ${shown(role.threshold)}`;
    return [`${nameOf(cell)} · ${role.title}`, numbersOf, words[code] + (code === EXPLAINED ? role.verdict : "")];
  };

  const tell = (cell) => {
    for (const { cells } of maps) {
      if (marked >= 0) cells[marked].classList.remove("same");
      if (cell >= 0) cells[cell].classList.add("same");
    }
    marked = cell;
    if (cell < 0) {
      sentence.textContent = usual;
      return;
    }
    const held = roles.filter((role) => role.code[cell] === "0").map((role) => role.title);
    sentence.textContent = sentences[cell] || (held.length ? `${nameOf(cell)}: ${held.join(", ")}.` : `${nameOf(cell)} holds no role.`);
    sentence.append(html("code", {}, `run.head(${nameOf(cell).replace("-", ", ")})`));
  };
  const pin = (cell) => { pinned = pinned === cell ? -1 : cell; };
  const point = (role, cell, target) => {
    card.replaceChildren(...linesOf(role, cell).map((line) => html("p", {}, line)));
    card.hidden = false;
    const box = target.getBoundingClientRect();
    const below = box.bottom + card.offsetHeight + 8 < innerHeight;
    card.style.top = `${below ? box.bottom + 6 : Math.max(2, box.top - card.offsetHeight - 6)}px`;
    card.style.left = `${Math.max(4, Math.min(box.left, innerWidth - card.offsetWidth - 6))}px`;
    tell(cell);
  };
  const leave = () => {
    card.hidden = true;
    tell(pinned);
  };
  const walk = (map, cell) => {
    map.cells[map.stop].tabIndex = -1;
    map.stop = cell;
    map.cells[cell].tabIndex = 0;
    map.cells[cell].focus();
  };

  const draw = (role) => {
    [role.means, role.low, role.high] = [role.mean, role.below, role.above].map(numbers);
    const most = Math.max(...role.means.filter((value) => !Number.isNaN(value)), 0.5);
    const count = [...role.code].filter((code) => code === "0").length;
    const cells = [...role.code].map((code, cell) => {
      const shade = Math.round(Math.max(0, role.means[cell] || 0) / most * 88);
      const sign = SIGNS[code];
      const look = { class: [STATES[code], shade > 52 ? "deep" : ""].filter(Boolean).join(" ") || undefined, style: `--shade: ${shade};` };
      return html("td", { ...look, tabindex: cell ? -1 : 0, role: "gridcell", "aria-label": linesOf(role, cell).join(", ") }, size > 9 ? sign : "");
    });
    const rows = layers.map((layer, row) => html("tr", {},
      html("th", { scope: "row", "aria-label": `layer ${layer}` }, size > 9 || row % 4 === 0 ? String(layer) : ""), cells.slice(row * heads, (row + 1) * heads)));
    const feet = Array.from({ length: heads }, (_, head) => html("th", {}, size > 9 || head % 4 === 0 ? String(head) : ""));
    const foot = html("tr", { "aria-hidden": "true", class: "heads" }, html("th", {}), feet);
    const table = html("table", { role: "grid", "aria-label": role.title, style: `--tone: var(--tone-${role.tone}); --size: ${size}px;` }, rows, foot);
    const map = { cells, stop: 0 };
    maps.push(map);
    const cellOf = (event) => cells.indexOf(event.target);
    for (const name of ["mouseover", "focusin"]) table.addEventListener(name, (event) => cellOf(event) >= 0 && point(role, cellOf(event), event.target));
    for (const name of ["mouseleave", "focusout"]) table.addEventListener(name, leave);
    table.addEventListener("click", (event) => {
      const cell = cellOf(event);
      if (cell < 0) return;
      pin(cell);
      walk(map, cell);
      tell(pinned);
    });
    table.addEventListener("keydown", (event) => {
      const cell = cellOf(event);
      if (event.key === "Enter" || event.key === " ") pin(cell);
      else if (event.key === "Escape") pinned = -1;
      else if (event.key in MOVES) {
        const next = cell + MOVES[event.key];
        if (next >= 0 && next < cells.length) walk(map, next);
      } else return;
      event.preventDefault();
    });
    const title = html("h2", {}, role.title, html("span", {}, `${count} ${count === 1 ? "head" : "heads"}`));
    return html("section", { class: "map" }, title, html("div", { class: "wide" }, table));
  };
  by("maps").append(...roles.map(draw));
  /* A page that shows this one in a frame may ask for its height, and is told of every change. */
  const main = document.querySelector("main");
  const tellHeight = () => parent.postMessage({ mapsHeight: Math.ceil(main.getBoundingClientRect().bottom + scrollY) }, "*");
  new ResizeObserver(tellHeight).observe(main);
  addEventListener("message", (event) => event.data === "mapsHeight" && tellHeight());
}
