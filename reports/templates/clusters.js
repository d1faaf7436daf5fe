/* Clusters: colours of the map, the selected head, the pair under the pointer, and the tables as files. */
function clustersOf(data) {
  const map = by("figure-cluster-map");
  const tree = by("figure-cluster-tree");
  const controls = by("cluster-controls");
  const holders = by("cluster-role");
  const pickers = ["nearest-layer", "nearest-head"].map(by);
  const near = new Uint32Array(bytes(data.near).buffer);
  const ends = Object.fromEntries(Object.entries(data.ends).map(([name, text]) => [name, new Float32Array(bytes(text).buffer)]));
  const nearestCount = near.length / perSieve;
  const clusterOf = (head) => (data.cluster[head] < 0 ? "no cluster" : `cluster ${data.cluster[head]}`);
  /* Roles of a head in words; a role of which it holds a part is left out. */
  function rolesOf(head) {
    const own = findings.roles.filter((role) => holds(role, head) && !role.parts.some((part) => holds(findings.roles[part], head)));
    return own.map((role) => role.title).join(", ") || "none";
  }
  const three = (value) => (Number.isNaN(value) ? "–" : value.toFixed(3));

  /* On a narrow window a figure is as high as its square needs. */
  function fit(plot, height) {
    const fold = plot.closest("details:not([open])");
    if (fold) {
      fold.addEventListener("toggle", () => {
        fit(plot, height);
        if (drawnPlots.has(plot)) draw(plot);
      }, { once: true });
      return;
    }
    const place = by(`${plot.id}-spec`);
    const spec = JSON.parse(place.textContent);
    spec.layout.height = Math.min(spec.layout.height, Math.round(height(plot.clientWidth)));
    plot.style.minHeight = `${spec.layout.height}px`;
    place.textContent = JSON.stringify(spec);
  }

  /* The figure's own description is changed, so that it is drawn the same when the theme changes. */
  function change(alter) {
    const place = by(`${map.id}-spec`);
    const spec = JSON.parse(place.textContent);
    alter(Object.fromEntries(spec.data.map((trace) => [trace.name, trace])));
    place.textContent = JSON.stringify(spec);
    if (drawnPlots.has(map)) draw(map);
  }

  /* Heads with one role bear its symbol, the others a small ring. */
  function roleView(number) {
    const role = findings.roles[number];
    const holdsRole = data.cluster.map((_, head) => holds(role, head));
    const size = holdsRole.length > 400 ? 8 : 11;
    return {
      mode: "markers",
      marker: {
        color: holdsRole.map((held) => (held ? `var(--tone-${role.tone})` : "var(--faint)")),
        symbol: holdsRole.map((held) => (held ? data.symbols[number] : "circle-open")),
        size: holdsRole.map((held) => (held ? size : size - 4)),
        opacity: 1,
      },
    };
  }

  function colour(name, view) {
    change(({ heads }) => {
      for (const part of ["mode", "marker", "text", "textfont"]) delete heads[part];
      Object.assign(heads, view);
    });
    press(controls.querySelectorAll("[data-view]"), (button) => button.dataset.view === name);
    for (const key of document.querySelectorAll("#cluster-map [data-key]")) key.hidden = key.dataset.key !== name;
    if (holders && name !== "role") holders.value = "";
  }

  function selectHead(head) {
    pickers[0].value = layerAt(head);
    pickers[1].value = head % findings.heads;
    const places = Array.from({ length: nearestCount }, (_, place) => head * nearestCount + place);
    for (const table of [by("nearest"), by("card-near")]) {
      table.tBodies[0].replaceChildren(...places.map(nearestLine));
    }
    by("card-cluster").textContent = clusterSentence(head);
    by("nearest-told").textContent =
      `Nearest to layer ${pickers[0].value} head ${pickers[1].value}: ${clusterOf(head)}, roles: ${rolesOf(head)}.`;
    change(({ heads, near: lines, chosen }) => {
      const [x, y] = [columnOf("x"), columnOf("y")];
      const others = places.map((place) => near[place]);
      lines.x = others.flatMap((other) => [x[head], x[other], null]);
      lines.y = others.flatMap((other) => [y[head], y[other], null]);
      chosen.x = [x[head]];
      chosen.y = [y[head]];
    });
  }

  function nearestLine(place) {
    const [far, low, high] = ["distance", "low", "high"].map((name) => three(ends[name][place]));
    return html("tr", {},
      html("th", { scope: "row" }, linkTo(near[place])), html("td", {}, low === "–" ? far : `${far} [${low}, ${high}]`),
      html("td", { class: "words" }, clusterOf(near[place])), html("td", { class: "words" }, isolated(rolesOf(near[place]))));
  }

  /* In which cluster a head is, and how firmly. */
  function clusterSentence(head) {
    const others = data.cluster.filter((each) => each === data.cluster[head]).length - 1;
    const numbers = ["silhouette", "stability"].map((name) => [name, columnOf(name)[head]]).filter(([, number]) => !Number.isNaN(number))
      .map(([name, number]) => `${name} ${number.toFixed(2).replace("-", "−")}`);
    const company = data.cluster[head] < 0 ? "" : others ? ` with ${others} other ${others === 1 ? "head" : "heads"}` : ", alone in it";
    const name = clusterOf(head);
    return `${name[0].toUpperCase()}${name.slice(1)}${company}${numbers.length ? `; ${numbers.join(", ")}` : ""}.`;
  }

  const columnOf = (name) => new Float64Array(bytes(data.columns[name]).buffer);

  /* Show the heads of the cell of the square under the pointer, and their distance. */
  const square = JSON.parse(by(`${tree.id}-spec`).textContent).data.find((trace) => trace.type === "heatmap");
  const distances = numbersIn(square.z);
  function showDistance({ target, clientX, clientY }) {
    const picture = tree.querySelector("image");
    const box = picture?.getBoundingClientRect();
    if (!box || !tree.contains(target)) return;
    const { low, step, factor } = data.scale;
    const size = Math.sqrt(distances.length);
    const column = Math.floor(size * (clientX - box.left) / box.width);
    const row = Math.floor(size * (clientY - box.top) / box.height);
    if (Math.min(row, column) < 0 || Math.max(row, column) >= size) return;
    const heads = (cell) => {
      const [first, last] = [cell * factor, Math.min((cell + 1) * factor, data.order.length) - 1];
      return factor === 1 ? headName(data.order[first]) : `${headName(data.order[first])} … ${headName(data.order[last])}`;
    };
    const z = distances[row * size + column];
    const far = step ? low + step * z : z;
    by("tree-told").textContent = `${heads(row)} and ${heads(column)}: distance ${three(far)}`;
  }

  /* A plot can be listened to once it is drawn. */
  function listen(plot, event, answer) {
    new MutationObserver((_, watcher) => {
      if (!plot.on) return;
      watcher.disconnect();
      plot.on(event, ({ points }) => answer(points));
    }).observe(plot, { childList: true, subtree: true });
  }

  function clustersFile() {
    const names = Object.keys(data.columns);
    const numbers = names.map(columnOf);
    const lines = data.cluster.map((cluster, head) => [layerAt(head), head % findings.heads, cluster, ...numbers.map((values) => numberText(values[head], false))]);
    return csvText([["layer", "head", "cluster", ...names], ...lines]);
  }

  controls.addEventListener("click", (event) => {
    const name = event.target.closest("[data-view]")?.dataset.view;
    if (name) colour(name, data.views[name]);
  });
  holders?.addEventListener("input", () => {
    if (holders.value === "") colour("roles", data.views.roles);
    else colour("role", roleView(Number(holders.value)));
  });
  for (const picker of pickers) {
    picker.addEventListener("input", () => selectHead(cellNamed(pickers[0].value, pickers[1].value)));
  }
  listen(map, "plotly_click", (points) => {
    const point = points.find(({ data: trace }) => trace.name === "heads");
    if (point) openHead(point.pointNumber);
  });
  document.addEventListener("head", ({ detail }) => selectHead(detail));
  tree.addEventListener("mousemove", showDistance);
  FILES["clusters.csv"] = clustersFile;
  for (const place of [controls, by("nearest-controls"), by("nearest")]) place.hidden = false;
  fit(map, (width) => 0.9 * width);
  fit(tree, (width) => (width - 56) / 0.755 + 100);
  selectHead(0);
}
clustersOf(read("clusters-data"));
