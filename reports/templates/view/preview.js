/* The large picture of a head beside its tile, with its roles, while the tile is pointed at or has the focus. */
const preview = (() => {
  const SIDE = 260;
  const MOST_LABELS = 26;
  const GAP = 10;
  let turn = 0;

  function label(units, side) {
    const bar = create("div", undefined, `view-preview-side view-preview-${side}`);
    bar.append(...units.map((unit) => create("span", attention.shorten(unit.text))));
    return bar;
  }

  function facts(layer, head) {
    const list = create("ul");
    list.append(...roles.lines(layer, head).map(({ role, title, text }) => {
      const line = create("li");
      line.append(roles.chip(role), create("span", `${title}: ${text}`));
      return line;
    }));
    if (!list.children.length) list.append(create("li", "no role in the run"));
    return list;
  }

  async function show(button) {
    const mine = ++turn;
    const [layer, head] = button.place;
    const { layers, heads } = mapsNow();
    const bytes = await layerOf(layer);
    if (mine !== turn || !button.isConnected) return;
    const host = by("model-preview");
    const frame = create("div", undefined, "view-preview-frame");
    const field = create("div", undefined, "view-preview-field");
    const canvas = field.appendChild(create("canvas"));
    frame.append(field);
    host.replaceChildren(create("strong", `layer ${layers[layer]}, head ${heads[head]}`), frame, ...(roles.known() ? [facts(layer, head)] : []));
    host.hidden = false;
    const { rows, columns } = thumbs.paint(canvas, bytes, head, SIDE);
    const most = Math.max(rows.length, columns.length);
    if (chosen.form === "lines" && most <= MOST_LABELS) {
      frame.prepend(label(rows, 0));
      frame.append(label(columns, 1));
      frame.style.setProperty("--rows", String(most));
    }
    put(host, button.getBoundingClientRect());
  }

  /* Beside the tile: to its right where there is room, else to its left. */
  function put(host, tile) {
    const { offsetWidth: wide, offsetHeight: tall } = host;
    const right = tile.right + GAP + wide <= document.documentElement.clientWidth;
    const left = tile.left - GAP - wide;
    host.style.left = `${Math.max(GAP, right ? tile.right + GAP : left)}px`;
    host.style.top = `${Math.max(GAP, Math.min(tile.top, innerHeight - tall - GAP))}px`;
  }

  function hide() {
    turn += 1;
    by("model-preview").hidden = true;
  }

  for (const name of ["pointerover", "focusin"]) {
    by("panel-model").addEventListener(name, (event) => {
      const button = event.target.closest(".view-thumb");
      if (button) show(button);
      else hide();
    });
  }
  by("panel-model").addEventListener("pointerleave", hide);
  by("panel-model").addEventListener("focusout", hide);
  addEventListener("scroll", () => {
    const button = document.activeElement.closest(".view-thumb");
    if (button && !by("model-preview").hidden) put(by("model-preview"), button.getBoundingClientRect());
    else if (!button) hide();
  }, { passive: true });
  addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  return { hide };
})();
