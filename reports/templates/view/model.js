/* The model view: every head as a small picture, drawn when it comes near the window, a few at a time. Beside a picture that
   is pointed at or has the focus stands a large one, with the roles of the head. */
const modelView = (() => {
  const PATIENCE = 12;
  /* Pixels: side of a small and of a large picture, cells of a heat map at most, tokens with labels at most, space between. */
  const [SMALL, LARGE, FINEST, MOST_LABELS, GAP] = [72, 260, 96, 26, 10];
  let laid = "";
  let drawn = "";
  let tiles = [];
  let queue = [];
  let frame = null;
  let turn = 0;
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
