/* The head view: lines or cells between the tokens, of the heads that are switched on. */
const headView = (() => {
  let drawing = null;
  let drawnKind = -1;
  let turn = 0;
  let touched = Math.min(...chosen.heads);
  let laid = "";

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

  function only(place) {
    choose(place);
    renew();
  }

  function marks() {
    const { heads } = mapsNow();
    if (!chosen.heads.has(touched) && chosen.heads.size === 1) [touched] = chosen.heads;
    for (const button of by("head-heads").children) button.setAttribute("aria-pressed", String(chosen.heads.has(button.place)));
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
    if (focused) drawing.focus(focused[0], focused[1]);
    focused = null;
    table(maps, chosenMaps[0]);
  }

  let focused = null;
  /* After the picture is drawn anew, the focus goes to a token of it. */
  function focusLater(side, place) {
    focused = [side, place];
  }

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
