/* Shared by the views of a page: the data, decoded on demand, and the current choices. */
const { isolate } = attention;
const content = JSON.parse(by("view-data").textContent);
for (const maps of content.maps) maps.keys ??= maps.queries;
const MOST_HELD = 96 * 2 ** 20;
const cache = new Map();

const [firstKind, firstLayer, firstHead, firstRole] = content.opening;

const chosen = {
  kind: firstKind, layer: firstLayer, heads: new Set([firstHead]), keys: null, order: "number", only: null,
  form: "lines", level: "pieces", specials: true, sink: true, from: "all", to: "all",
};

const mapsNow = () => content.maps[chosen.kind];
const toneOf = (head) => `var(--tone-${head % 8})`;
const settingsNow = () => {
  const { form, level, specials, sink, from, to, only } = chosen;
  return { form, level, specials, sink, from, to, only, ...roles.settings() };
};

/* Decoded bytes are kept until there are too many; the least recently used go first. */
async function bytesOf(name, text) {
  const known = cache.get(name);
  cache.delete(name);
  const bytes = known ?? await attention.unpack(text);
  cache.set(name, bytes);
  let size = [...cache.values()].reduce((sum, each) => sum + each.length, 0);
  for (const [old, each] of cache) {
    if (size <= MOST_HELD || old === name) break;
    cache.delete(old);
    size -= each.length;
  }
  return bytes;
}

/* Weights of all heads of a layer; of one head of them. */
const layerOf = (layer, kind = chosen.kind) => bytesOf(`${kind} weights ${layer}`, content.maps[kind].weights[layer]);
/* The same without waiting, where it is decoded already: printing does not wait. */
const layerHeld = (layer) => cache.get(`${chosen.kind} weights ${layer}`);
function headOf(bytes, head, maps = mapsNow()) {
  const size = maps.queries.pieces.length * maps.keys.pieces.length;
  return bytes.subarray(head * size, (head + 1) * size);
}

/* 16-bit floats, as numpy writes them, to 32-bit ones. */
function halvesOf(bytes) {
  const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float32Array.from({ length: bytes.byteLength / 2 }, (_, place) => {
    const word = words.getUint16(2 * place, true);
    const [exponent, fraction] = [(word >> 10) & 31, (word & 1023) / 1024];
    return (word & 32768 ? -1 : 1) * (exponent ? 2 ** (exponent - 15) * (1 + fraction) : 2 ** -14 * fraction);
  });
}

const decimals = (value, count = 3) => value.toFixed(count).replace("-", "−");

/* A row of a table: its heading and its cells, each a text, an element or a list of those. */
const tableRow = (heading, cells, look) => html("tr", {}, html("th", { scope: "row" }, heading), cells.map((content) => html("td", { class: look }, content)));

/* Fill a table anew with column names ("" for none) and finished rows. */
function fillTable(table, names, rows, look) {
  const titles = names.map((name, place) => (name === "" ? html("td", {}) : html("th", { scope: "col", class: place ? look : undefined }, String(name))));
  table.replaceChildren(...(table.caption ? [table.caption] : []), html("thead", {}, html("tr", {}, titles)), html("tbody", {}, rows));
}

function options(select, numbers, place) {
  select.replaceChildren(...numbers.map((number, index) => new Option(String(number), String(index), false, index === place)));
}

/* One of many elements takes the focus at a time: arrow keys move within `columns`, Home and End along a row. */
function roving(elements, event, columns) {
  const place = elements.indexOf(event.target.closest("[tabindex], button"));
  if (place < 0) return;
  const row = Math.floor(place / columns) * columns;
  const to = {
    ArrowLeft: place - 1, ArrowRight: place + 1, ArrowUp: place - columns, ArrowDown: place + columns,
    Home: row, End: Math.min(row + columns, elements.length) - 1,
  }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  if (to < 0 || to >= elements.length || (event.key.startsWith("Arrow") && columns > 1 && /Left|Right/u.test(event.key) && (to < row || to >= row + columns))) return;
  focusOne(elements, to);
}

function takeTab(elements, place) {
  for (const [other, element] of elements.entries()) element.tabIndex = other === place ? 0 : -1;
}

function focusOne(elements, place) {
  takeTab(elements, place);
  elements[place]?.focus();
}

function resolveColour(tone, element = document.body) {
  const probe = html("span", {});
  probe.style.color = tone;
  element.append(probe);
  const numbers = getComputedStyle(probe).color.match(/[\d.]+/gu).slice(0, 3).map(Number);
  probe.remove();
  return numbers;
}

/* The roles that a run found in the heads, and the keys of a role on this input. Without a run, there are none. */
const roles = (() => {
  const data = content.roles;
  const cellOf = (layer, head) => layer * content.maps[data.kind].heads.length + head;
  const known = () => data !== null && chosen.kind === data.kind;
  const all = data ? [...data.names.keys()] : [];
  const counts = all.map((role) => [...data.drawn[role]].filter((held) => held === "1").length);
  /* The rarest role first: it says most about a head. */
  const rarest = [...all].sort((one, other) => counts[one] - counts[other] || one - other);

  const of = (layer, head) => (known() ? rarest.filter((role) => data.drawn[role][cellOf(layer, head)] === "1") : []);
  const titles = (layer, head) => of(layer, head).map((role) => data.titles[role]);
  const chip = (role, tone = data.tones[role]) => html("i", { class: `chip tone-${tone}`, "aria-hidden": "true" }, data.marks[role]);

  /* A line for every role of a head, and for every score that something else explains. */
  function lines(layer, head) {
    if (!known()) return [];
    const cell = cellOf(layer, head);
    const told = rarest.filter((role) => data.drawn[role][cell] === "1" || data.decision[role][cell] === "4");
    told.sort((one, other) => Number(data.decision[one][cell]) - Number(data.decision[other][cell]));
    return told.map((role) => {
      const mean = data.mean[role][cell];
      return { role, title: data.titles[role], text: `${data.words[role][data.decision[role][cell]]}${mean === null ? "" : `, mean ${decimals(mean, 2)}`}` };
    });
  }

  const text = (layer, head) => lines(layer, head).map(({ title, text: words }) => `${title}: ${words}`).join("\n");

  /* The rarest role of a head, null for none, and the mean of its score. */
  const first = (layer, head) => of(layer, head)[0] ?? null;
  const strength = (layer, head) => data.mean[first(layer, head)]?.[cellOf(layer, head)] ?? 0;

  /* Every head once, under its rarest role, the strongest first; heads without a role come last. */
  function groups() {
    const { layers, heads } = mapsNow();
    const found = new Map([...rarest, null].map((role) => [role, []]));
    layers.forEach((_, layer) => heads.forEach((__, head) => found.get(first(layer, head)).push([layer, head])));
    for (const cells of found.values()) cells.sort((one, other) => strength(...other) - strength(...one));
    return [...found].filter(([, cells]) => cells.length).map(([role, cells]) => ({ role, cells, title: role === null ? "no role" : data.titles[role] }));
  }

  /* The heads of a layer in the order that is chosen. */
  function ordered(layer) {
    const places = [...mapsNow().heads.keys()];
    if (chosen.order !== "role" || !known()) return places;
    const rank = (head) => [...rarest, null].indexOf(first(layer, head));
    return places.sort((one, other) => rank(one) - rank(other) || strength(layer, other) - strength(layer, one) || one - other);
  }

  /* One number per (query, key): 1 where the sieve counts it; null where no role is chosen. */
  let decoded = { role: null, own: null };
  async function load(role) {
    if (role === null || decoded.role === role) return;
    const { queries, keys } = content.maps[data.kind];
    decoded = { role, own: await attention.unpackBits(data.keys[role], queries.pieces.length * keys.pieces.length) };
  }

  const shown = () => known() && chosen.keys !== null && decoded.role === chosen.keys;
  const settings = () => (shown() ? { own: decoded.own, tone: `var(--tone-${data.key_tones[chosen.keys]})` } : { own: null });

  /* Whether some keys of the role are special tokens, which have to be shown for it. */
  const special = () => shown() && decoded.own.some((own, cell) => own && mapsNow().keys.special[cell % mapsNow().keys.pieces.length]);

  function key() {
    const host = by("view-keys-key");
    host.hidden = !shown();
    if (host.hidden) return;
    const count = decoded.own.reduce((sum, own) => sum + own, 0);
    const words = count ? "keys of this role; other keys are grey" : "this input has no keys of this role, so all are grey";
    host.replaceChildren(chip(chosen.keys, data.key_tones[chosen.keys]), ` ${data.titles[chosen.keys]}: ${words}`);
  }

  function choices() {
    const select = by("view-keys");
    if (!select) return;
    select.replaceChildren(new Option("no role", ""), ...all.map((role) => {
      const option = new Option(`${data.marks[role]} · ${data.titles[role]}`, String(role));
      option.disabled = data.keys[role] === null;
      return option;
    }));
  }

  const hasKeys = (role) => data !== null && role !== null && data.keys[role] !== null;
  return { coloured: shown, known, of, chip, choices, titles, lines, text, groups, ordered, load, settings, special, key, hasKeys };
})();

/* The head view: lines or cells between the tokens, of the heads that are switched on. */
const headView = (() => {
  let drawing = null;
  let drawnKind = -1;
  let turn = 0;
  let touched = Math.min(...chosen.heads);
  let laid = "";
  let focused = null;

  function buttons() {
    const { heads } = mapsNow();
    laid = wanted();
    by("head-heads").replaceChildren(...roles.ordered(chosen.layer).map((place) => {
      const head = heads[place];
      const name = [`head ${head}`, ...roles.titles(chosen.layer, place)].join(", ");
      const chips = roles.of(chosen.layer, place).map((role) => roles.chip(role));
      const button = html("button", { class: `view-head tone-${head % 8}`, type: "button", "aria-label": name, title: roles.text(chosen.layer, place) }, String(head), chips);
      button.place = place;
      button.addEventListener("click", () => toggle(place));
      button.addEventListener("dblclick", () => only(place));
      return button;
    }));
  }

  const wanted = () => [chosen.kind, chosen.order, roles.known() ? chosen.layer : 0].join(" ");

  function toggle(place) {
    touched = place;
    if (!chosen.heads.has(place)) chosen.heads.add(place);
    else if (chosen.heads.size > 1) chosen.heads.delete(place);
    renew();
  }

  function choose(place) {
    touched = place;
    chosen.heads = new Set([place]);
  }
  const only = (place) => { choose(place); renew(); };

  function marks() {
    const { heads } = mapsNow();
    if (!chosen.heads.has(touched) && chosen.heads.size === 1) [touched] = chosen.heads;
    press(by("head-heads").children, (button) => chosen.heads.has(button.place));
    by("head-only").textContent = `Only head ${heads[touched]}`;
    by("head-mean").hidden = chosen.form !== "heat" || chosen.heads.size < 2;
    /* What the run says about the one head that is shown. */
    const lines = chosen.heads.size === 1 ? roles.lines(chosen.layer, ...chosen.heads) : [];
    by("head-roles").hidden = !roles.known() || chosen.heads.size > 1;
    by("head-roles").replaceChildren(
      ...(lines.length ? [] : ["This head holds no role in the run."]),
      ...lines.map(({ role, title, text }) => html("span", {}, roles.chip(role), ` ${title}: ${text}`)),
    );
  }

  async function renew() {
    const mine = ++turn;
    const maps = mapsNow();
    if (drawnKind !== chosen.kind && drawnKind >= 0) touched = Math.min(...chosen.heads);
    if (laid !== wanted()) buttons();
    options(by("head-layer"), maps.layers, chosen.layer);
    marks();
    const bytes = await layerOf(chosen.layer);
    if (mine !== turn) return;
    const { own, tone } = roles.settings();
    const chosenMaps = [...chosen.heads].sort((one, other) => one - other).map((place) => (
      { weights: headOf(bytes, place, maps), tone: own ? tone : toneOf(maps.heads[place]), label: `head ${maps.heads[place]}` }
    ));
    const settings = { ...settingsNow(), isolate: isolateToken, maps: chosenMaps, label: `Layer ${maps.layers[chosen.layer]}` };
    if (drawnKind === chosen.kind) drawing.set(settings);
    else {
      drawing?.remove();
      drawing = attention.draw(by("head-map"), { queries: maps.queries, keys: maps.keys }, settings);
      drawnKind = chosen.kind;
    }
    if (focused) drawing.focus(...focused);
    focused = null;
    table(maps, chosenMaps[0]);
  }

  /* After the picture is drawn anew, the focus goes to a token of it. */
  const focusLater = (side, place) => { focused = [side, place]; };

  /* The table behind the picture is made when it is opened. */
  function table(maps, first) {
    const details = by("head-table");
    details.onceOpen = () => {
      const found = attention.matrix({ queries: maps.queries, keys: maps.keys, weights: first.weights }, settingsNow());
      by("head-table-of").textContent = `Layer ${maps.layers[chosen.layer]}, ${first.label}.`;
      const written = ({ text, value }) => [isolate(text), ` ${decimals(value)}`];
      const rows = found.rows.map((unit, place) => {
        const keys = attention.strongest(found, 0, place);
        return tableRow([`${unit.places[0]} `, isolate(unit.text)], [0, 1, 2].map((rank) => (keys[rank] ? written(keys[rank]) : [])), "words");
      });
      fillTable(details.querySelector("table"), ["token", "strongest", "second", "third"], rows, "words");
    };
    if (details.open) details.onceOpen();
  }

  by("head-layer").addEventListener("input", (event) => {
    chosen.layer = Number(event.target.value);
    renew();
  });
  by("head-only").addEventListener("click", () => only(touched));
  by("head-all").addEventListener("click", () => {
    chosen.heads = new Set(mapsNow().heads.keys());
    renew();
  });
  by("head-table").addEventListener("toggle", (event) => { if (event.target.open) event.target.onceOpen?.(); });
  return { renew, choose, focusLater };
})();

/* The model view: every head as a small picture, drawn when it comes near the window, a few at a time. Beside a picture that
   is pointed at or has the focus stands a large one, with the roles of the head. */
const modelView = (() => {
  const PATIENCE = 12;
  /* Pixels: side of a small and of a large picture, cells of a heat map at most, tokens with labels at most, space between. */
  const [SMALL, LARGE, FINEST, MOST_LABELS, GAP] = [72, 260, 96, 26, 10];
  let [laid, drawn, tiles, queue, frame, turn] = ["", "", [], [], null, 0];
  const near = new Set();
  const watch = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) near.add(target);
      else near.delete(target);
      if (isIntersecting) ask(target);
    }
  }, { rootMargin: "300px" });

  /* A pixel per cell; of long inputs, a pixel shows the strongest of several cells. */
  function cells({ rows, columns, values, counted }, [ground, full, rest]) {
    const [tall, wide] = [rows, columns].map((units) => Math.max(1, Math.min(units.length, FINEST)));
    const strongest = new Float32Array(wide * tall);
    const own = new Uint8Array(wide * tall).fill(counted ? 0 : 1);
    const across = columns.map((_, column) => Math.floor(column * wide / columns.length));
    for (let place = 0; place < values.length; place += 1) {
      const row = Math.floor(place / columns.length);
      const pixel = wide * Math.floor(row * tall / rows.length) + across[place - row * columns.length];
      if (values[place] > strongest[pixel]) {
        strongest[pixel] = values[place];
        if (counted) own[pixel] = counted[place];
      }
    }
    const picture = new ImageData(wide, tall);
    strongest.forEach((value, pixel) => picture.data.set([...attention.mix(ground, own[pixel] ? full : rest, value), 255], 4 * pixel));
    return picture;
  }

  /* Drawn off screen and copied as pixels: strokes drawn directly can cover the rest of a printed sheet. */
  function lines({ rows, columns, values, counted }, colours, side, scale) {
    const size = Math.round(side * scale);
    const context = new OffscreenCanvas(size, size).getContext("2d", { willReadFrequently: true });
    context.scale(scale, scale);
    const step = (side - 6) / Math.max(rows.length, columns.length);
    const least = values.length > 4000 ? 0.1 : 0.02;
    /* The keys of a role lie over the rest. */
    for (const own of counted ? [0, 1] : [1]) {
      context.strokeStyle = `rgb(${colours[own ? 1 : 2].join(" ")})`;
      values.forEach((value, place) => {
        if (value < least || (counted && counted[place] !== own)) return;
        context.globalAlpha = Math.min(value, 1) * (own ? 1 : attention.BEHIND);
        context.lineWidth = counted && own ? 1.6 : 1;
        context.beginPath();
        context.moveTo(3, 3 + (Math.floor(place / columns.length) + 0.5) * step);
        context.lineTo(side - 3, 3 + ((place % columns.length) + 0.5) * step);
        context.stroke();
      });
    }
    return context.getImageData(0, 0, size, size);
  }

  /* Draws a head; keys that the chosen role does not count are grey, and fainter than its own. */
  function picture(canvas, bytes, head, side = SMALL) {
    const { queries, keys, heads } = mapsNow();
    const settings = settingsNow();
    const found = attention.matrix({ queries, keys, weights: headOf(bytes, head) }, settings);
    const tones = ["var(--panel)", settings.own ? settings.tone : toneOf(heads[head]), attention.OTHER];
    const colours = tones.map((tone) => resolveColour(tone, canvas.parentElement));
    canvas.dataset.form = chosen.form;
    const scale = (canvas.clientWidth || side) / side * (devicePixelRatio || 1);
    const pixels = chosen.form === "heat" ? cells(found, colours) : lines(found, colours, side, scale);
    [canvas.width, canvas.height] = [pixels.width, pixels.height];
    canvas.getContext("2d").putImageData(pixels, 0, 0);
    return found;
  }

  const byRole = () => chosen.order === "role" && roles.known();
  const wanted = () => `${chosen.kind} ${byRole()}`;

  function lay() {
    const { layers, heads } = mapsNow();
    watch.disconnect();
    near.clear();
    tiles = [];
    laid = wanted();
    by("model-scroll").hidden = byRole();
    by("model-groups").hidden = !byRole();
    by("model-said").textContent = byRole() ? "Every head once, under its rarest role, the strongest first." : "Every head; rows are layers, columns are heads.";
    by("panel-model").style.setProperty("--heads", String(heads.length));
    if (byRole()) by("model-groups").replaceChildren(...roles.groups().map(group));
    else fillTable(by("model-grid"), ["", ...heads], layers.map((layer, row) => tableRow(String(layer), heads.map((_, column) => tile(row, column)))));
    for (const each of tiles) watch.observe(each);
  }

  function group({ role, cells: places, title }) {
    const { layers, heads } = mapsNow();
    const name = [...(role === null ? [] : [roles.chip(role), " "]), title, " ", html("span", { class: "count" }, `${places.length} ${places.length === 1 ? "head" : "heads"}`)];
    const drawn = places.map(([layer, head]) => html("div", {}, tile(layer, head), html("span", { class: "count" }, `${layers[layer]}-${heads[head]}`)));
    return html("div", { class: "view-group" }, html("h2", {}, name), html("div", { class: "view-tiles" }, drawn));
  }

  function tile(row, column) {
    const { layers, heads } = mapsNow();
    const name = [`layer ${layers[row]}, head ${heads[column]}`, ...roles.titles(row, column)].join(", ");
    const chips = roles.known() ? [html("span", { class: "view-chips" }, roles.of(row, column).map((role) => roles.chip(role)))] : [];
    const look = { class: "view-thumb", type: "button", tabindex: tiles.length ? -1 : 0, "aria-label": name, "aria-describedby": "model-preview" };
    const button = html("button", look, html("canvas", {}), chips);
    button.place = [row, column];
    button.addEventListener("click", () => openHead(row, column));
    tiles.push(button);
    return button;
  }

  const appearance = () => JSON.stringify([{ ...settingsNow(), own: chosen.keys }, matchMedia("(prefers-color-scheme: dark)").matches, document.documentElement.dataset.print ?? null]);

  async function ask(button) {
    const kind = chosen.kind;
    if (button.drawn === appearance()) return;
    const bytes = await layerOf(button.place[0]);
    if (kind !== chosen.kind || !near.has(button)) return;
    queue.push([button, bytes]);
    frame ??= requestAnimationFrame(pump);
  }

  function pump() {
    const start = performance.now();
    frame = null;
    while (queue.length && performance.now() - start < PATIENCE) paint(...queue.shift());
    if (queue.length) frame = requestAnimationFrame(pump);
  }

  function paint(button, bytes) {
    if (button.drawn === drawn) return;
    picture(button.firstChild, bytes, button.place[1]);
    button.drawn = drawn;
  }

  /* Draws what is near, and decodes every layer, as far as all of them can be held: on paper, every head is near. */
  async function renew() {
    const { layers, heads, queries, keys } = mapsNow();
    const kind = chosen.kind;
    if (laid !== wanted()) lay();
    drawn = appearance();
    queue = [];
    for (const button of near) ask(button);
    if (layers.length * heads.length * queries.pieces.length * keys.pieces.length > MOST_HELD) return;
    for (let layer = 0; layer < layers.length && kind === chosen.kind; layer += 1) await layerOf(layer);
  }

  /* Draw every head at once in the current colours, where its weights are decoded. */
  function repaint() {
    drawn = appearance();
    queue = [];
    for (const button of tiles) {
      const bytes = layerHeld(button.place[0]);
      if (bytes) paint(button, bytes);
    }
  }

  /* The large picture of a head, with its tokens where these are few. */
  async function preview(button) {
    const mine = ++turn;
    const [layer, head] = button.place;
    const { layers, heads } = mapsNow();
    const bytes = await layerOf(layer);
    if (mine !== turn || !button.isConnected) return;
    const canvas = html("canvas", {});
    const whole = html("div", { class: "view-preview-frame" }, html("div", { class: "view-preview-field" }, canvas));
    const facts = roles.lines(layer, head).map(({ role, title, text }) => html("li", {}, roles.chip(role), html("span", {}, `${title}: ${text}`)));
    if (!facts.length) facts.push(html("li", {}, "no role in the run"));
    const name = html("strong", {}, `layer ${layers[layer]}, head ${heads[head]}`);
    by("model-preview").replaceChildren(name, whole, ...(roles.known() ? [html("ul", {}, facts)] : []));
    by("model-preview").hidden = false;
    const { rows, columns } = picture(canvas, bytes, head, LARGE);
    const most = Math.max(rows.length, columns.length);
    if (chosen.form === "lines" && most <= MOST_LABELS) {
      const [left, right] = [rows, columns].map((units, side) => (
        html("div", { class: `view-preview-side view-preview-${side}` }, units.map((unit) => html("span", {}, attention.shorten(unit.text))))
      ));
      whole.prepend(left);
      whole.append(right);
      whole.style.setProperty("--rows", String(most));
    }
    put(button);
  }

  /* Beside the tile: to its right where there is room, else to its left. */
  function put(button) {
    const { offsetWidth: wide, offsetHeight: tall, style } = by("model-preview");
    const tile = button.getBoundingClientRect();
    const right = tile.right + GAP + wide <= document.documentElement.clientWidth;
    style.left = `${Math.max(GAP, right ? tile.right + GAP : tile.left - GAP - wide)}px`;
    style.top = `${Math.max(GAP, Math.min(tile.top, innerHeight - tall - GAP))}px`;
  }

  function hide() {
    turn += 1;
    by("model-preview").hidden = true;
  }

  const panel = by("panel-model");
  const tileOf = (element) => element.closest(".view-thumb");
  for (const name of ["pointerover", "focusin"]) {
    panel.addEventListener(name, ({ target }) => (tileOf(target) ? preview(tileOf(target)) : hide()));
  }
  for (const name of ["pointerleave", "focusout"]) panel.addEventListener(name, hide);
  addEventListener("scroll", () => {
    const button = tileOf(document.activeElement);
    if (!button) hide();
    else if (!by("model-preview").hidden) put(button);
  }, { passive: true });
  addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  for (const id of ["model-grid", "model-groups"]) {
    by(id).addEventListener("keydown", (event) => roving(tiles, event, byRole() ? 1 : mapsNow().heads.length));
    by(id).addEventListener("focusin", (event) => takeTab(tiles, tiles.indexOf(event.target)));
  }
  return { renew, repaint, hide, tiles: () => tiles };
})();
