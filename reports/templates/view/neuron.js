/* The neuron view: for a token that attends, its query next to the key of every token, and the steps to the weight. */
const neuronView = (() => {
  let turn = 0;
  let query = 0;
  let inHand = 0;
  let dimension = 0;
  let now = null;
  let strip = -1;
  let rows = [];
  let mostOfProducts = 0;
  const buttons = () => [...by("neuron-queries").children];
  const keyButtons = () => rows.map((line) => line.cells[0].firstChild);

  function token(piece, place, current) {
    const button = create("button", undefined, "map-token");
    button.type = "button";
    button.tabIndex = place === current ? 0 : -1;
    button.append(attention.isolate(piece));
    if (attention.shorten(piece) !== piece) button.title = piece;
    return button;
  }

  /* Rows are made once per layer and head; a new query only fills them. */
  function lay() {
    const tones = strips.tones();
    const steps = products.columns(now);
    rows = now.maps.keys.pieces.map((piece, place) => {
      const line = create("tr");
      const name = line.appendChild(Object.assign(create("th"), { scope: "row" }));
      name.append(token(piece, place, inHand));
      const canvases = [0, 1].map(() => create("canvas", undefined, "view-cells"));
      line.append(...canvases.map((canvas) => { const cell = create("td"); cell.append(canvas); return cell; }));
      line.append(...steps.map(() => create("td")), create("td", undefined, "view-weight"));
      strips.paint(canvases[0], products.vector(now.keys, place, now.size), now.most, tones);
      return line;
    });
    fillTable(by("neuron-table"), ["attended to", "k", "q × k", ...steps, "weight"], rows);
  }

  function fill() {
    const tones = strips.tones();
    const all = rows.map((_, place) => products.steps(now, query, place));
    const most = all.reduce((largest, each) => Math.max(largest, each.most), 0);
    rows.forEach((line, place) => {
      const { product, sums, seen, weight } = all[place];
      line.classList.toggle("view-hidden", !seen);
      strips.paint(line.cells[2].firstChild, product, most, tones);
      sums.forEach((number, step) => { line.cells[3 + step].textContent = decimals(number); });
      line.lastChild.textContent = seen ? decimals(weight) : "not visible";
      line.lastChild.style.setProperty("--share", weight.toFixed(3));
    });
    by("neuron-query").replaceChildren("q of ", attention.isolate(now.maps.queries.pieces[query]));
    strips.paint(by("neuron-query-strip"), products.vector(now.queries, query, now.size), now.most, tones);
    strips.legend(by("neuron-legend"), now.most, most);
    by("neuron-said").textContent = products.notes(now);
    mostOfProducts = most;
    lines();
    numbers();
  }

  /* Lines from the token that attends to every key, and those between the dimensions of q and of the key in hand. */
  function lines() {
    const { queries, keys } = now.maps;
    const weights = rows.map((_, place) => { const { seen, weight } = products.steps(now, query, place); return seen ? weight : 0; });
    links.tokens(rows, weights, queries === keys ? query : null, queries.pieces[query]);
    const steps = products.steps(now, query, inHand);
    links.dimensions(steps, now.most, mostOfProducts, carriers.marks());
    by("neuron-dims").setAttribute("aria-label", `Query of ${queries.pieces[query]} and key of ${keys.pieces[inHand]}, joined dimension by dimension`);
    by("neuron-dims-said").replaceChildren(
      "q of ", attention.isolate(queries.pieces[query]), " above, k of ", attention.isolate(keys.pieces[inHand]),
      ` below; a line between them is as strong as the product of its dimension. Sum × ${Number(now.scaling.toPrecision(4))} = ${decimals(steps.sums[0], 2)}; weight ${steps.seen ? decimals(steps.weight) : "0, because the key is not visible"}.`,
    );
  }

  /* The table behind the strips, made while it is open. */
  function numbers() {
    const { queries, keys } = now.maps;
    by("neuron-numbers-of").replaceChildren(
      "From ", attention.isolate(queries.pieces[query]), " to ", attention.isolate(keys.pieces[inHand]), "; another key is chosen in the table above.",
    );
    if (!by("neuron-numbers").open) return;
    const { q, k, product } = products.steps(now, query, inHand);
    const lines = Array.from(q, (_, place) => {
      const line = create("tr");
      const texts = [...[q, k, product].map((values) => decimals(values[place])), ...carriers.cells(place)];
      line.append(Object.assign(create("th", String(place)), { scope: "row" }), ...texts.map((text) => create("td", text)));
      return line;
    });
    fillTable(by("neuron-numbers").querySelector("table"), ["dimension", "q", "k", "q × k", ...carriers.columns()], lines);
  }

  function tell(place, at) {
    const changed = inHand !== place;
    [inHand, dimension] = [place, Math.min(Math.max(at, 0), now.size - 1)];
    const { q, k, product } = products.steps(now, query, place);
    const [one, other, both] = [q, k, product].map((values) => decimals(values[dimension]));
    by("neuron-told").replaceChildren(attention.isolate(now.maps.keys.pieces[place]), `, dimension ${dimension}: q ${one}, k ${other}, q × k ${both}${carriers.word(dimension)}`);
    keyButtons().forEach((button, other) => button.classList.toggle("map-held", other === place));
    if (changed) {
      lines();
      numbers();
    }
  }

  function choose(place) {
    query = place;
    buttons().forEach((button, other) => button.setAttribute("aria-pressed", String(other === place)));
    fill();
  }

  /* Draw everything at once in the current colours. */
  function repaint() {
    if (!now || !mapsNow().neurons) return;
    carriers.paint();
    lay();
    fill();
  }

  async function renew() {
    const mine = ++turn;
    const maps = mapsNow();
    by("neuron-none").hidden = maps.neurons !== null;
    by("neuron-known").hidden = maps.neurons === null;
    if (!maps.neurons) return;
    const head = Math.min(...chosen.heads);
    options(by("neuron-layer"), maps.layers, chosen.layer);
    options(by("neuron-head"), maps.heads.map((number, place) => [number, ...roles.of(chosen.layer, place).map((role) => content.roles.marks[role])].join(" ")), head);
    const loaded = await products.load(chosen.kind, chosen.layer, head);
    if (mine !== turn) return;
    now = loaded;
    if (strip !== chosen.kind) {
      [query, inHand, strip] = [0, 0, chosen.kind];
      by("neuron-queries").replaceChildren(...maps.queries.pieces.map((piece, place) => token(piece, place, 0)));
    }
    carriers.turn(chosen.layer, head);
    carriers.paint();
    lay();
    choose(query);
  }

  by("neuron-layer").addEventListener("input", (event) => {
    chosen.layer = Number(event.target.value);
    renew();
  });
  by("neuron-head").addEventListener("input", (event) => {
    chosen.heads = new Set([Number(event.target.value)]);
    renew();
  });
  by("neuron-queries").addEventListener("click", (event) => {
    const place = buttons().indexOf(event.target.closest("button"));
    if (place < 0) return;
    focusOne(buttons(), place);
    choose(place);
  });
  by("neuron-queries").addEventListener("keydown", (event) => {
    roving(buttons(), event, 1);
    const place = buttons().indexOf(document.activeElement);
    if (place >= 0 && place !== query && event.defaultPrevented) choose(place);
  });
  const rowOf = (event) => rows.indexOf(event.target.closest("tr"));
  by("neuron-table").addEventListener("pointermove", (event) => {
    if (event.target.matches("canvas")) tell(rowOf(event), strips.under(event));
  });
  for (const name of ["focusin", "click"]) {
    by("neuron-table").addEventListener(name, (event) => { if (rowOf(event) >= 0) tell(rowOf(event), dimension); });
  }
  by("neuron-table").addEventListener("keydown", (event) => {
    const along = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (along) {
      tell(rowOf(event), dimension + along);
      event.preventDefault();
    } else roving(keyButtons(), event, 1);
  });
  carriers.onChange(repaint);
  new ResizeObserver(() => { if (now && mapsNow().neurons && open === "neuron") lines(); }).observe(by("neuron-table"));
  by("neuron-numbers").addEventListener("toggle", () => { if (now) numbers(); });
  return { renew, repaint, loaded: () => now };
})();
