"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const { layers, heads, size, words, roles, sentences } = JSON.parse(byId("data").textContent);
  const EXPLAINED = 4, STEPS = 1000;
  const STATES = ["held", "", "open", "none", "", ""], SIGNS = ["●", "", "", "", "~", ""], PART = "⋄";
  const card = byId("card"), sentence = byId("sentence");
  const usual = sentence.textContent;
  const maps = [];
  let pinned = -1, marked = -1;

  const element = (name, text, kind) => {
    const made = document.createElement(name);
    if (text) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };
  const numbers = (text) => text.split(" ").map((part) => (part === "" ? NaN : Number(part) / STEPS));
  const shown = (value) => {
    if (Number.isNaN(value)) return "–";
    const digits = Math.abs(value) >= 0.05 ? 2 : 3;
    const text = Math.abs(value).toFixed(digits);
    return (value < 0 && Number(text) ? "−" : "") + text;
  };
  const nameOf = (cell) => `${layers[Math.floor(cell / heads)]}-${cell % heads}`;
  const verdictOf = (role, cell) => {
    const code = Number(role.code[cell]);
    return words[code] + (code === EXPLAINED ? role.verdict : "");
  };
  const linesOf = (role, cell) => {
    const center = role.means[cell];
    const ends = `[${shown(center - role.low[cell])}, ${shown(center + role.high[cell])}]`;
    const numbersOf = Number.isNaN(center) ? "no score" : `${shown(center)} ${ends}, threshold ${shown(role.threshold)}`;
    return [`${nameOf(cell)} · ${role.title}`, numbersOf, verdictOf(role, cell)];
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
    const words = held.length ? `${nameOf(cell)}: ${held.join(", ")}.` : `${nameOf(cell)} holds no role.`;
    sentence.textContent = sentences[cell] || words;
    sentence.append(element("code", `run.head(${nameOf(cell).replace("-", ", ")})`));
  };
  const point = (role, cell, target) => {
    card.replaceChildren(...linesOf(role, cell).map((line) => element("p", line)));
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
  const MOVES = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -heads, ArrowDown: heads };

  const draw = (role) => {
    role.means = numbers(role.mean);
    role.low = numbers(role.below);
    role.high = numbers(role.above);
    const most = Math.max(...role.means.filter((value) => !Number.isNaN(value)), 0.5);
    const box = element("section", "", "map");
    const title = element("h2", role.title);
    const count = [...role.code].filter((code) => code === "0").length;
    title.append(element("span", `${count} ${count === 1 ? "head" : "heads"}`));
    const table = element("table");
    table.setAttribute("role", "grid");
    table.setAttribute("aria-label", role.title);
    table.style.setProperty("--tone", `var(--tone-${role.tone})`);
    table.style.setProperty("--size", `${size}px`);
    const map = { cells: [], stop: 0 };
    for (let layer = 0; layer < layers.length; layer += 1) {
      const row = element("tr");
      const number = element("th", size > 9 || layer % 4 === 0 ? String(layers[layer]) : "");
      number.scope = "row";
      number.setAttribute("aria-label", `layer ${layers[layer]}`);
      row.append(number);
      for (let head = 0; head < heads; head += 1) {
        const cell = layer * heads + head, code = Number(role.code[cell]);
        const sign = role.parts.includes(cell) ? PART : SIGNS[code];
        const one = element("td", size > 9 ? sign : "", STATES[code]);
        const shade = Math.round(Math.max(0, role.means[cell] || 0) / most * 88);
        one.style.setProperty("--shade", String(shade));
        if (shade > 52) one.classList.add("deep");
        one.tabIndex = cell ? -1 : 0;
        one.setAttribute("role", "gridcell");
        one.setAttribute("aria-label", linesOf(role, cell).join(", "));
        map.cells.push(one);
        row.append(one);
      }
      table.append(row);
    }
    const cellOf = (event) => map.cells.indexOf(event.target);
    table.addEventListener("mouseover", (event) => cellOf(event) >= 0 && point(role, cellOf(event), event.target));
    table.addEventListener("mouseleave", leave);
    table.addEventListener("focusin", (event) => point(role, cellOf(event), event.target));
    table.addEventListener("focusout", leave);
    table.addEventListener("click", (event) => {
      const cell = cellOf(event);
      if (cell < 0) return;
      pinned = pinned === cell ? -1 : cell;
      walk(map, cell);
      tell(pinned);
    });
    table.addEventListener("keydown", (event) => {
      const cell = cellOf(event);
      if (event.key === "Enter" || event.key === " ") pinned = pinned === cell ? -1 : cell;
      else if (event.key === "Escape") pinned = -1;
      else if (event.key in MOVES) {
        const next = cell + MOVES[event.key];
        if (next >= 0 && next < map.cells.length) walk(map, next);
      } else return;
      event.preventDefault();
    });
    const wide = element("div", "", "wide");
    wide.append(table);
    box.append(title, wide);
    maps.push(map);
    return box;
  };
  byId("maps").append(...roles.map(draw));
  // A page that shows this one in a frame may ask for its height, and is told of every change.
  const main = document.querySelector("main");
  const tellHeight = () => parent.postMessage({ mapsHeight: Math.ceil(main.getBoundingClientRect().bottom + scrollY) }, "*");
  new ResizeObserver(tellHeight).observe(main);
  addEventListener("message", (event) => event.data === "mapsHeight" && tellHeight());
})();
