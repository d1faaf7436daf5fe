/* The model view: every head as a thumbnail, drawn when it comes near the window, a few at a time. */
const modelView = (() => {
  const SIDE = 72;
  const FINEST = 96;
  const PATIENCE = 12;
  let laidKind = -1;
  let drawn = "";
  let thumbs = [];
  let queue = [];
  let frame = null;
  const near = new Set();
  const watch = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) near.add(target);
      else near.delete(target);
      if (isIntersecting) ask(target);
    }
  }, { rootMargin: "300px" });

  function lay() {
    const { layers, heads } = mapsNow();
    const top = create("thead");
    const titles = top.appendChild(create("tr"));
    titles.append(create("td"), ...heads.map((head) => Object.assign(create("th", String(head)), { scope: "col" })));
    const body = create("tbody");
    watch.disconnect();
    near.clear();
    thumbs = [];
    layers.forEach((layer, row) => {
      const line = body.appendChild(create("tr"));
      line.append(Object.assign(create("th", String(layer)), { scope: "row" }));
      heads.forEach((head, column) => line.appendChild(create("td")).append(thumb({ layer, head, row, column })));
    });
    by("model-grid").replaceChildren(by("model-grid").caption, top, body);
    laidKind = chosen.kind;
    for (const each of thumbs) watch.observe(each);
  }

  function thumb({ layer, head, row, column }) {
    const button = create("button", undefined, "view-thumb");
    button.type = "button";
    button.tabIndex = thumbs.length ? -1 : 0;
    button.setAttribute("aria-label", `layer ${layer}, head ${head}`);
    button.title = `layer ${layer}, head ${head}`;
    button.place = [row, column];
    button.append(create("canvas"));
    button.addEventListener("click", () => openHead(row, column));
    thumbs.push(button);
    return button;
  }

  const appearance = () => JSON.stringify([settingsNow(), matchMedia("(prefers-color-scheme: dark)").matches, document.documentElement.dataset.print ?? null]);

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
    const maps = mapsNow();
    const data = { queries: maps.queries, keys: maps.keys, weights: headOf(bytes, button.place[1]) };
    const weights = attention.matrix(data, settingsNow());
    const canvas = button.firstChild;
    canvas.dataset.form = chosen.form;
    const tone = resolveColour(toneOf(maps.heads[button.place[1]]), button);
    if (chosen.form === "heat") cells(canvas, weights, tone);
    else lines(canvas, weights, tone);
    button.drawn = drawn;
  }

  /* A pixel per cell; of long inputs, a pixel shows the strongest of several cells. */
  function cells(canvas, { rows, columns, values }, tone) {
    const [tall, wide] = [rows, columns].map((units) => Math.max(1, Math.min(units.length, FINEST)));
    const strongest = new Float32Array(wide * tall);
    const across = columns.map((_, column) => Math.floor(column * wide / columns.length));
    for (let place = 0; place < values.length; place += 1) {
      const row = Math.floor(place / columns.length);
      const pixel = wide * Math.floor(row * tall / rows.length) + across[place - row * columns.length];
      if (values[place] > strongest[pixel]) strongest[pixel] = values[place];
    }
    const picture = new ImageData(wide, tall);
    const ground = resolveColour("var(--panel)", canvas.parentElement);
    strongest.forEach((value, pixel) => picture.data.set([...attention.mix(ground, tone, value), 255], 4 * pixel));
    [canvas.width, canvas.height] = [wide, tall];
    canvas.getContext("2d").putImageData(picture, 0, 0);
  }

  /* Drawn off screen and copied as pixels: strokes drawn directly can cover the rest of a printed sheet. */
  function lines(canvas, { rows, columns, values }, tone) {
    const scale = (canvas.clientWidth || SIDE) / SIDE * (devicePixelRatio || 1);
    const size = Math.round(SIDE * scale);
    const context = new OffscreenCanvas(size, size).getContext("2d", { willReadFrequently: true });
    context.scale(scale, scale);
    context.strokeStyle = `rgb(${tone.join(" ")})`;
    const step = (SIDE - 6) / Math.max(rows.length, columns.length);
    const least = values.length > 4000 ? 0.1 : 0.02;
    values.forEach((value, place) => {
      if (value < least) return;
      context.globalAlpha = Math.min(value, 1);
      context.beginPath();
      context.moveTo(3, 3 + (Math.floor(place / columns.length) + 0.5) * step);
      context.lineTo(SIDE - 3, 3 + ((place % columns.length) + 0.5) * step);
      context.stroke();
    });
    [canvas.width, canvas.height] = [size, size];
    canvas.getContext("2d").putImageData(context.getImageData(0, 0, size, size), 0, 0);
  }

  function renew() {
    if (laidKind !== chosen.kind) lay();
    drawn = appearance();
    queue = [];
    for (const button of near) ask(button);
    prepare();
  }

  /* Decodes every layer, as far as all of them can be held: on paper, every head is near. */
  async function prepare() {
    const { layers, heads, queries, keys } = mapsNow();
    const kind = chosen.kind;
    if (layers.length * heads.length * queries.pieces.length * keys.pieces.length > MOST_HELD) return;
    for (let layer = 0; layer < layers.length && kind === chosen.kind; layer += 1) await layerOf(layer);
  }

  /* Draw every head at once in the current colours, where its weights are decoded. */
  function repaint() {
    drawn = appearance();
    queue = [];
    for (const button of thumbs) {
      const bytes = layerHeld(button.place[0]);
      if (bytes) paint(button, bytes);
    }
  }

  by("model-grid").addEventListener("keydown", (event) => roving(thumbs, event, mapsNow().heads.length));
  by("model-grid").addEventListener("focusin", (event) => {
    const place = thumbs.indexOf(event.target);
    for (const [other, each] of thumbs.entries()) each.tabIndex = other === place ? 0 : -1;
  });
  return { renew, repaint, thumbs: () => thumbs };
})();
