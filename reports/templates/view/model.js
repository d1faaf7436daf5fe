/* The model view: every head as a thumbnail, drawn when it comes near the window, a few at a time. */
const modelView = (() => {
  const PATIENCE = 12;
  let laid = "";
  let drawn = "";
  let tiles = [];
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

  const byRole = () => chosen.order === "role" && roles.known();
  const wanted = () => `${chosen.kind} ${byRole()}`;

  function lay() {
    watch.disconnect();
    near.clear();
    tiles = [];
    laid = wanted();
    by("model-scroll").hidden = byRole();
    by("model-groups").hidden = !byRole();
    by("model-said").textContent = byRole() ? "Every head once, under its rarest role, the strongest first." : "Every head; rows are layers, columns are heads.";
    by("panel-model").style.setProperty("--heads", String(mapsNow().heads.length));
    if (byRole()) layGroups();
    else layGrid();
    for (const each of tiles) watch.observe(each);
  }

  function layGroups() {
    const { layers, heads } = mapsNow();
    by("model-groups").replaceChildren(...roles.groups().map(({ role, cells, title }) => {
      const group = create("div", undefined, "view-group");
      const name = group.appendChild(create("h2"));
      if (role !== null) name.append(roles.chip(role), " ");
      name.append(title, " ", create("span", `${cells.length} ${cells.length === 1 ? "head" : "heads"}`, "count"));
      const row = group.appendChild(create("div", undefined, "view-tiles"));
      row.append(...cells.map(([layer, head]) => {
        const cell = create("div");
        cell.append(tile({ layer: layers[layer], head: heads[head], row: layer, column: head }), create("span", `${layers[layer]}-${heads[head]}`, "count"));
        return cell;
      }));
      return group;
    }));
  }

  function layGrid() {
    const { layers, heads } = mapsNow();
    const top = create("thead");
    const titles = top.appendChild(create("tr"));
    titles.append(create("td"), ...heads.map((head) => Object.assign(create("th", String(head)), { scope: "col" })));
    const body = create("tbody");
    layers.forEach((layer, row) => {
      const line = body.appendChild(create("tr"));
      line.append(Object.assign(create("th", String(layer)), { scope: "row" }));
      heads.forEach((head, column) => line.appendChild(create("td")).append(tile({ layer, head, row, column })));
    });
    by("model-grid").replaceChildren(by("model-grid").caption, top, body);
  }

  function tile({ layer, head, row, column }) {
    const button = create("button", undefined, "view-thumb");
    button.type = "button";
    button.tabIndex = tiles.length ? -1 : 0;
    const held = roles.titles(row, column);
    button.setAttribute("aria-label", [`layer ${layer}, head ${head}`, ...held].join(", "));
    button.setAttribute("aria-describedby", "model-preview");
    button.place = [row, column];
    button.append(create("canvas"));
    if (roles.known()) {
      const chips = button.appendChild(create("span", undefined, "view-chips"));
      chips.append(...roles.of(row, column).map((role) => roles.chip(role)));
    }
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
    thumbs.paint(button.firstChild, bytes, button.place[1]);
    button.drawn = drawn;
  }

  function renew() {
    if (laid !== wanted()) lay();
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
    for (const button of tiles) {
      const bytes = layerHeld(button.place[0]);
      if (bytes) paint(button, bytes);
    }
  }

  for (const id of ["model-grid", "model-groups"]) {
    by(id).addEventListener("keydown", (event) => roving(tiles, event, byRole() ? 1 : mapsNow().heads.length));
    by(id).addEventListener("focusin", (event) => {
      const place = tiles.indexOf(event.target);
      for (const [other, each] of tiles.entries()) each.tabIndex = other === place ? 0 : -1;
    });
  }
  return { renew, repaint, tiles: () => tiles };
})();
