/* The parts of the weights of one layer and head: decoded, multiplied step by step, and described in words. */
const products = (() => {
  const most = (values) => values.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);

  /* Queries, keys, bias and mask of a layer and head. */
  async function load(kind, layer, head) {
    const maps = content.maps[kind];
    const { neurons } = maps;
    const [tall, wide, size] = [maps.queries.pieces.length, maps.keys.pieces.length, neurons.size];
    const once = (what) => bytesOf(`${kind} ${what} ${neurons[what].of[layer]}`, neurons[what].held[neurons[what].of[layer]]);
    const slice = (bytes, place, count) => halvesOf(bytes.subarray(2 * place * count, 2 * (place + 1) * count));
    const [queries, keys, weights, visible, bias] = await Promise.all([
      bytesOf(`${kind} query ${layer}`, neurons.query[layer]), bytesOf(`${kind} key ${layer}`, neurons.key[layer]), layerOf(layer, kind), once("visible"), neurons.bias && once("bias"),
    ]);
    const loaded = {
      maps, layer, head, wide, size, visible, queries: slice(queries, head, tall * size), keys: slice(keys, neurons.place[head], wide * size),
      weights: headOf(weights, head, maps), bias: bias && slice(bias, head, tall * wide), scaling: neurons.scaling[layer], softcap: neurons.softcap[layer],
    };
    return { ...loaded, most: Math.max(most(loaded.queries), most(loaded.keys)) };
  }

  const vector = (values, place, size) => values.subarray(place * size, (place + 1) * size);

  /* One token's attention to one key: q, k, q × k, and the number whose softmax is the weight. */
  function steps(loaded, query, key) {
    const { size, wide, scaling, softcap, bias, visible, weights } = loaded;
    const cell = query * wide + key;
    const q = vector(loaded.queries, query, size);
    const k = vector(loaded.keys, key, size);
    const product = q.map((value, place) => value * k[place]);
    const sums = [scaling * product.reduce((sum, value) => sum + value, 0)];
    if (softcap !== null) sums.push(softcap * Math.tanh(sums[0] / softcap));
    if (bias) sums.push(sums.at(-1) + bias[cell]);
    const seen = Boolean(visible[cell >> 3] & (128 >> (cell & 7)));
    return { q, k, product, sums, seen, weight: weights[cell] / 255, most: most(product) };
  }

  function columns({ scaling, softcap, bias }) {
    const scaled = `q·k × ${Number(scaling.toPrecision(4))}`;
    return [scaled, ...(softcap === null ? [] : [`capped at ±${softcap}`]), ...(bias ? ["with position bias"] : [])];
  }

  /* 0, 1, 2, 5 as "0–2, 5". */
  function spans(numbers) {
    const runs = [];
    for (const number of numbers) {
      if (runs.at(-1)?.[1] === number - 1) runs.at(-1)[1] = number;
      else runs.push([number, number]);
    }
    return runs.map(([first, last]) => (first === last ? first : `${first}–${last}`)).join(", ");
  }

  function sharedKeys({ group }, heads, head) {
    if (group.every((each, place) => each === heads[place])) return "";
    const sharing = heads.filter((_, place) => group[place] === group[head]);
    return sharing.length > 1 ? `Query heads ${spans(sharing)} share key head ${group[head]}.` : `Query head ${sharing[0]} uses key head ${group[head]}.`;
  }

  function notes({ maps, layer, head }) {
    const sink = maps.neurons.sink[layer][head];
    return [
      sharedKeys(maps.neurons, maps.heads, head),
      "Products are computed from 16-bit copies of queries and keys, after rotary positions and norms; the weight is the one the model computed, in steps of 1/255: the softmax, over the visible keys, of the number before it.",
      sink === null ? "" : `A sink with the logit ${decimals(sink)} takes part in the softmax and is then dropped, so that weights sum to less than 1.`,
    ].filter(Boolean).join(" ");
  }

  return { load, steps, vector, columns, notes, spans };
})();

/* A strip of numbers: a cell per dimension, positive ones in the upper half, negative ones in the lower. `most` is the number
   that gets the full colour. */
const stripTones = () => [resolveColour("var(--tone-1)"), resolveColour("var(--tone-0)")];
function paintStrip(canvas, values, most, tones = stripTones()) {
  const picture = new ImageData(values.length, 2);
  values.forEach((value, place) => {
    const shade = most > 0 ? Math.round(255 * Math.min(Math.abs(value) / most, 1)) : 0;
    picture.data.set([...tones[value > 0 ? 0 : 1], shade], 4 * (value > 0 ? place : values.length + place));
  });
  [canvas.width, canvas.height] = [values.length, 2];
  canvas.getContext("2d").putImageData(picture, 0, 0);
}

/* The number of the strip's cell under the pointer. */
function cellUnder({ target, clientX }) {
  const box = target.getBoundingClientRect();
  const place = Math.floor((clientX - box.left) / box.width * target.width);
  return Math.min(Math.max(place, 0), target.width - 1);
}

/* Dimensions that carry a role of the head in the neuron view, as a run of `headroles why` found them. Without one, none. */
const carriers = (() => {
  const data = content.origins;
  const noun = data?.paired ? "frequency pair" : "dimension";
  let here = [];
  let current = null;

  const known = () => data !== null && chosen.kind === data.kind;
  const foundIn = (group) => current.found.includes(group);
  /* Dimensions that were found: of a frequency pair both. */
  const marks = () => (current ? data.group.flatMap((group, place) => (foundIn(group) ? [place] : [])) : []);
  const chance = (p) => (p < 0.001 ? "< 0.001" : decimals(p));
  const percent = (share) => `${decimals(100 * share, 1)} %`;

  /* The part of a dimension in the role, and its adjusted p; null where not known. */
  const numbersOf = (dimension) => {
    const group = data.group[dimension];
    return { group, share: current.share[group], q: current.q[group] };
  };

  /* What the run says of a dimension, after the numbers of the token. */
  function word(dimension) {
    if (!current) return "";
    const { group, share, q } = numbersOf(dimension);
    if (share === null) return `; ${current.title}: not tested`;
    const name = data.paired ? `, frequency pair ${group}` : "";
    return `; ${percent(share)} of ${current.title}${name}${q === null ? "" : `, adjusted p ${chance(q)}`}${foundIn(group) ? ", found" : ""}`;
  }

  /* The part of every dimension in the role that is chosen; `again` draws what depends on it. */
  function paint() {
    if (!data) return;
    /* Marked columns lie behind every strip. */
    const parts = marks().flatMap((place) => {
      const [from, to] = [place, place + 1].map((edge) => `${(100 * edge) / data.group.length}%`);
      return [`transparent ${from}`, `var(--found) ${from}`, `var(--found) ${to}`, `transparent ${to}`];
    });
    by("panel-neuron").style.setProperty("--found-columns", parts.length ? `linear-gradient(90deg, ${parts.join(", ")})` : "none");
    by("neuron-carriers").hidden = !current;
    if (!current) return;
    const shares = data.group.map((group) => current.share[group] ?? 0);
    paintStrip(by("neuron-share"), Float32Array.from(shares), Math.max(...shares.map(Math.abs)));
    by("neuron-share").setAttribute("aria-label", `Part of every dimension in ${current.title}; ${current.found.length} found`);
    by("neuron-found").textContent = current.found.length
      ? `found: ${noun}${current.found.length > 1 ? "s" : ""} ${products.spans(current.found)}, more than twice the fair share`
      : `no ${noun} has more than twice the fair share`;
    by("neuron-carriers-said").textContent = current.text;
  }

  /* Take up another head. */
  function turn(layer, head) {
    if (!data) return;
    const title = current?.title;
    here = known() ? data.carriers.filter((one) => one.layer === layer && one.head === head) : [];
    current = here.find((one) => one.title === title) ?? here[0] ?? null;
    const select = by("neuron-role");
    select.replaceChildren(...here.map((one, place) => new Option(one.title, String(place), false, one === current)));
    select.disabled = here.length < 2;
  }

  function onChange(again) {
    if (!data) return;
    by("neuron-role").addEventListener("input", (event) => {
      current = here[Number(event.target.value)];
      again();
    });
    by("neuron-share").addEventListener("pointermove", (event) => {
      const dimension = cellUnder(event);
      by("neuron-told").textContent = `dimension ${dimension}${word(dimension)}`;
    });
  }

  /* Further columns of the table of numbers. */
  const columns = () => (current ? [`part ${data.paired ? "of its pair " : ""}in ${current.title}`, "adjusted p"] : []);
  const cells = (dimension) => {
    if (!current) return [];
    const { group, share, q } = numbersOf(dimension);
    return [share === null ? "–" : `${percent(share)}${foundIn(group) ? " ●" : ""}`, q === null ? "–" : chance(q)];
  };

  return { paint, turn, marks, word, onChange, columns, cells };
})();

/* The neuron view: for a token that attends, its query next to the key of every token, and the steps to the weight. */
const neuronView = (() => {
  let [turn, query, inHand, dimension, strip, mostOfProducts] = [0, 0, 0, 0, -1, 0];
  let [now, rows] = [null, []];
  const buttons = () => [...by("neuron-queries").children];
  const keyButtons = () => rows.map((line) => line.cells[0].firstChild);

  /* Rows are made once per layer and head; a new query only fills them. */
  function lay() {
    const tones = stripTones();
    const steps = products.columns(now);
    rows = now.maps.keys.pieces.map((piece, place) => {
      const canvases = [0, 1].map(() => html("canvas", { class: "view-cells" }));
      const line = tableRow(attention.token(piece, place === inHand), [...canvases, ...steps.map(() => []), []]);
      line.lastChild.className = "view-weight";
      paintStrip(canvases[0], products.vector(now.keys, place, now.size), now.most, tones);
      return line;
    });
    fillTable(by("neuron-table"), ["attended to", "k", "q × k", ...steps, "weight"], rows);
  }

  function fill() {
    const tones = stripTones();
    const all = rows.map((_, place) => products.steps(now, query, place));
    const most = all.reduce((largest, each) => Math.max(largest, each.most), 0);
    rows.forEach((line, place) => {
      const { product, sums, seen, weight } = all[place];
      line.classList.toggle("view-hidden", !seen);
      paintStrip(line.cells[2].firstChild, product, most, tones);
      sums.forEach((number, step) => { line.cells[3 + step].textContent = decimals(number); });
      line.lastChild.textContent = seen ? decimals(weight) : "not visible";
      line.lastChild.style.setProperty("--share", weight.toFixed(3));
    });
    by("neuron-query").replaceChildren("q of ", isolate(now.maps.queries.pieces[query]));
    paintStrip(by("neuron-query-strip"), products.vector(now.queries, query, now.size), now.most, tones);
    by("neuron-legend").replaceChildren(
      swatch("view-positive", "positive, in the upper half"), " ", swatch("view-negative", "negative, in the lower half"), " ",
      html("span", {}, `full colour: ±${decimals(now.most, 2)} in q and k, ±${decimals(most, 2)} in q × k`),
    );
    by("neuron-said").textContent = products.notes(now);
    mostOfProducts = most;
    lines();
    numbers();
  }

  const swatch = (look, text) => html("span", {}, html("span", { class: `view-swatch ${look}` }), text);

  /* Lines from the token that attends to every key, and those between the dimensions of q and of the key in hand. */
  function lines() {
    const { queries, keys } = now.maps;
    const steps = products.steps(now, query, inHand);
    linesToKeys(queries === keys ? query : null);
    linesOfDimensions(steps);
    by("neuron-dims").setAttribute("aria-label", `Query of ${queries.pieces[query]} and key of ${keys.pieces[inHand]}, joined dimension by dimension`);
    by("neuron-dims-said").replaceChildren(
      "q of ", isolate(queries.pieces[query]), " above, k of ", isolate(keys.pieces[inHand]),
      ` below; a line between them is as strong as the product of its dimension. Sum × ${Number(now.scaling.toPrecision(4))} = ${decimals(steps.sums[0], 2)}; weight ${steps.seen ? decimals(steps.weight) : "0, because the key is not visible"}.`,
    );
  }

  /* A line to every row as strong as its weight; it begins at the row of the token itself, where it has one. */
  function linesToKeys(start) {
    const picture = by("neuron-lines");
    const top = picture.parentElement.getBoundingClientRect().top;
    const heights = rows.map((row) => { const box = row.getBoundingClientRect(); return box.top - top + box.height / 2; });
    const [wide, tall] = [picture.clientWidth, by("neuron-table").offsetHeight];
    picture.setAttribute("viewBox", `0 0 ${wide || 1} ${tall || 1}`);
    picture.style.height = `${tall}px`;
    const from = heights[start ?? Math.floor(heights.length / 2)];
    by("neuron-from").replaceChildren("q of ", isolate(now.maps.queries.pieces[query]));
    by("neuron-from").style.top = `${from}px`;
    picture.replaceChildren(...heights.flatMap((to, place) => {
      const { seen, weight } = products.steps(now, query, place);
      if (!seen || weight <= 0) return [];
      const d = `M0 ${from}C${wide * 0.5} ${from} ${wide * 0.5} ${to} ${wide} ${to}`;
      return [shape("path", { d, "stroke-opacity": weight.toFixed(3), "stroke-width": (1 + 3 * weight).toFixed(2) })];
    }));
  }

  /* q above, k below, and between them a line for each dimension, as strong as its product; some are marked. */
  function linesOfDimensions({ q, k, product }) {
    const picture = by("neuron-dims");
    picture.setAttribute("viewBox", `0 0 ${q.length} 40`);
    const bars = (values, most, y, height, thin) => Array.from(values, (value, place) => shape("rect", {
      x: place + (thin ? 0.35 : 0.04), y, width: thin ? 0.3 : 0.92, height,
      class: value < 0 ? "view-minus" : "view-plus", "fill-opacity": most > 0 ? Math.min(Math.abs(value) / most, 1).toFixed(3) : 0,
    }));
    const marks = carriers.marks().map((x) => shape("rect", { x, y: 0, width: 1, height: 40, class: "view-found" }));
    picture.replaceChildren(...marks, ...bars(q, now.most, 0, 10), ...bars(product, mostOfProducts, 11, 18, true), ...bars(k, now.most, 30, 10));
  }

  /* The table behind the strips, made while it is open. */
  function numbers() {
    const { queries, keys } = now.maps;
    by("neuron-numbers-of").replaceChildren(
      "From ", isolate(queries.pieces[query]), " to ", isolate(keys.pieces[inHand]), "; another key is chosen in the table above.",
    );
    if (!by("neuron-numbers").open) return;
    const { q, k, product } = products.steps(now, query, inHand);
    const lines = Array.from(q, (_, place) => tableRow(String(place), [...[q, k, product].map((values) => decimals(values[place])), ...carriers.cells(place)]));
    fillTable(by("neuron-numbers").querySelector("table"), ["dimension", "q", "k", "q × k", ...carriers.columns()], lines);
  }

  function tell(place, at) {
    const changed = inHand !== place;
    [inHand, dimension] = [place, Math.min(Math.max(at, 0), now.size - 1)];
    const { q, k, product } = products.steps(now, query, place);
    const [one, other, both] = [q, k, product].map((values) => decimals(values[dimension]));
    by("neuron-told").replaceChildren(isolate(now.maps.keys.pieces[place]), `, dimension ${dimension}: q ${one}, k ${other}, q × k ${both}${carriers.word(dimension)}`);
    keyButtons().forEach((button, other) => button.classList.toggle("map-held", other === place));
    if (changed) {
      lines();
      numbers();
    }
  }

  function choose(place) {
    query = place;
    press(buttons(), (button) => button === buttons()[place]);
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
      by("neuron-queries").replaceChildren(...maps.queries.pieces.map((piece, place) => attention.token(piece, place === 0)));
    }
    carriers.turn(chosen.layer, head);
    carriers.paint();
    lay();
    choose(query);
  }

  by("neuron-layer").addEventListener("input", (event) => { chosen.layer = Number(event.target.value); renew(); });
  by("neuron-head").addEventListener("input", (event) => { chosen.heads = new Set([Number(event.target.value)]); renew(); });
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
  const placeOf = (event) => rows.indexOf(event.target.closest("tr"));
  by("neuron-table").addEventListener("pointermove", (event) => {
    if (event.target.matches("canvas")) tell(placeOf(event), cellUnder(event));
  });
  for (const name of ["focusin", "click"]) {
    by("neuron-table").addEventListener(name, (event) => { if (placeOf(event) >= 0) tell(placeOf(event), dimension); });
  }
  by("neuron-table").addEventListener("keydown", (event) => {
    const along = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (along) {
      tell(placeOf(event), dimension + along);
      event.preventDefault();
    } else roving(keyButtons(), event, 1);
  });
  carriers.onChange(repaint);
  new ResizeObserver(() => { if (now && mapsNow().neurons && open === "neuron") lines(); }).observe(by("neuron-table"));
  by("neuron-numbers").addEventListener("toggle", () => { if (now) numbers(); });
  return { renew, repaint, loaded: () => now };
})();
