/* The head view: lines or cells between the tokens, of the heads that are switched on. */
const headView = (() => {
  let drawing = null;
  let drawnKind = -1;
  let turn = 0;
  let touched = 0;

  function buttons() {
    const { heads } = mapsNow();
    by("head-heads").replaceChildren(...heads.map((head, place) => {
      const button = create("button", String(head), `view-head tone-${head % 8}`);
      button.type = "button";
      button.setAttribute("aria-label", `head ${head}`);
      button.addEventListener("click", () => toggle(place));
      button.addEventListener("dblclick", () => only(place));
      return button;
    }));
  }

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
    [...by("head-heads").children].forEach((button, place) => button.setAttribute("aria-pressed", String(chosen.heads.has(place))));
    by("head-only").textContent = `Only head ${heads[touched]}`;
    by("head-mean").hidden = chosen.form !== "heat" || chosen.heads.size < 2;
  }

  async function renew() {
    const mine = ++turn;
    const maps = mapsNow();
    if (drawnKind !== chosen.kind) {
      touched = 0;
      buttons();
    }
    options(by("head-layer"), maps.layers, chosen.layer);
    marks();
    const bytes = await layerOf(chosen.layer);
    if (mine !== turn) return;
    const chosenMaps = [...chosen.heads].sort((one, other) => one - other).map((place) => (
      { weights: headOf(bytes, place, maps), tone: toneOf(maps.heads[place]), label: `head ${maps.heads[place]}` }
    ));
    const settings = { ...settingsNow(), maps: chosenMaps, label: `Layer ${maps.layers[chosen.layer]}` };
    if (drawnKind === chosen.kind) drawing.set(settings);
    else {
      drawing?.remove();
      drawing = attention.draw(by("head-map"), { queries: maps.queries, keys: maps.keys }, settings);
      drawnKind = chosen.kind;
    }
    table(maps, chosenMaps[0]);
  }

  /* The table behind the picture is made when it is opened. */
  function table(maps, first) {
    const details = by("head-table");
    details.onceOpen = () => {
      const found = attention.matrix({ queries: maps.queries, keys: maps.keys, weights: first.weights }, settingsNow());
      by("head-table-of").textContent = `Layer ${maps.layers[chosen.layer]}, ${first.label}.`;
      const rows = found.rows.map((unit, place) => row(unit, attention.strongest(found, 0, place)));
      fillTable(details.querySelector("table"), ["token", "strongest", "second", "third"], rows, "words");
    };
    if (details.open) details.onceOpen();
  }

  function row(unit, keys) {
    const line = create("tr");
    const name = line.appendChild(create("th"));
    name.scope = "row";
    name.append(`${unit.places[0]} `, attention.isolate(unit.text));
    for (let rank = 0; rank < 3; rank += 1) {
      const cell = line.appendChild(create("td", undefined, "words"));
      if (keys[rank]) cell.append(attention.isolate(keys[rank].text), ` ${decimals(keys[rank].value)}`);
    }
    return line;
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
  return { renew, choose };
})();
