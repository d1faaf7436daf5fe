/* Distribution of a head's scores over the inputs: a histogram with chance, θ and mean, and its table. */
const spreadOf = (data) => {
  const BINS = 24;
  const SIZE = { height: 190, left: 40, right: 14, top: 12, bottom: 44 };
  const plot = document.querySelector("#card-spread .card-plot");
  const sentencePlace = document.getElementById("card-spread-told");
  const key = document.getElementById("card-spread-key");
  const body = document.querySelector("#card-spread-numbers tbody");
  let numbersPromise;
  let latest = null;

  async function numbers() {
    const [counts, scored, five] = await Promise.all([data.counts, data.scored, data.five].map(attention.unpack));
    const Counts = data.wide ? Uint32Array : Uint16Array;
    return { counts: new Counts(counts.slice().buffer), scored: new Uint32Array(scored.slice().buffer), five: new Uint16Array(five.slice().buffer) };
  }

  /* Scores with the decimals of their column: three, as in the tables, unless its range asks for others. */
  function scoreOf(value) {
    const decimals = data.decimals[latest.number];
    const step = 10 ** -decimals;
    const text = decimals > 0 ? value.toFixed(decimals) : String(Math.round(value / step) * step);
    return text.replace("-", Number(text) === 0 ? "" : "−");
  }

  /* Edges with every digit: a score between an edge and its rounded value would seem to be in the wrong bin. */
  const edgeOf = (edge) => String(edge).replace("-", "−");

  const inputs = (count) => `${count.toLocaleString("en")} ${count === 1 ? "input" : "inputs"}`;

  /* One sentence: how many inputs, between which scores, where half of them are. */
  function sentence(scored, five) {
    if (!scored) return "No input has a score.";
    const [low, quartile, median, upper, high] = five.map(scoreOf);
    const who = scored === data.inputs ? `All ${inputs(scored)}` : `${scored.toLocaleString("en")} of ${inputs(data.inputs)}`;
    if (data.inputs === 1) return `The one input has a score, ${low}.`;
    if (scored === 1) return `Only one of ${inputs(data.inputs)} has a score, ${low}.`;
    return `${who} have a score, from ${low} to ${high}; half of them lie between ${quartile} and ${upper}, the median is ${median}.`;
  }

  /* Round numbers along an axis, about as many as asked for. */
  function ticks(low, high, about) {
    const rough = (high - low) / about;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find((each) => each * power >= rough) * power;
    const first = Math.ceil(low / step - 1e-9);
    return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, place) => (first + place) * step);
  }

  function axes({ x, y, width, range, most }) {
    const base = SIZE.height - SIZE.bottom;
    const lines = ticks(0, most, 3).filter((count) => Number.isInteger(count)).map((count) => shape("g", {},
      shape("line", { class: "card-grid", x1: SIZE.left, x2: width - SIZE.right, y1: y(count), y2: y(count) }),
      shape("text", { x: SIZE.left - 6, y: y(count) + 4, "text-anchor": "end" }, String(count))));
    const scale = ticks(...range, width > 420 ? 7 : 4).map((score) => shape("text", { x: x(score), y: base + 27, "text-anchor": "middle" }, shortNumber(Number(score.toPrecision(6)))));
    const title = shape("text", { x: (SIZE.left + width - SIZE.right) / 2, y: SIZE.height - 3, "text-anchor": "middle" }, "score");
    return [...lines, ...scale, title];
  }

  /* Bars, and under them the middle half of the inputs with its median. */
  function bars({ x, y, edges, counts, five }) {
    const base = SIZE.height - SIZE.bottom;
    const drawn = [...counts].map((count, bin) => shape("rect", {
      class: "card-bar-of", x: x(edges[bin]) + 0.5, y: y(count), width: Math.max(x(edges[bin + 1]) - x(edges[bin]) - 1, 1), height: base - y(count),
    }, shape("title", {}, `${edgeOf(edges[bin])} to ${edgeOf(edges[bin + 1])}: ${inputs(count)}`)));
    const half = shape("rect", { class: "card-half", x: x(five[1]), y: base + 5, width: Math.max(x(five[3]) - x(five[1]), 1), height: 5 });
    return [...drawn, half, shape("rect", { class: "card-median", x: x(five[2]) - 1.5, y: base + 2, width: 3, height: 11 })];
  }

  function upright(name, at) {
    const base = SIZE.height - SIZE.bottom;
    const ends = { x1: at, x2: at, y1: SIZE.top - 6, y2: base };
    const tip = name === "mean" ? [shape("path", { class: "card-tip", d: `M${at - 5} ${SIZE.top - 10}h10l-5 9z` })] : [];
    return [shape("line", { class: "card-halo", ...ends }), shape("line", { class: `card-mark card-mark-${name}`, ...ends }), ...tip];
  }

  function paint() {
    if (!latest || plot.hidden) return;
    const { edges, counts, marks, label } = latest;
    const width = Math.max(plot.clientWidth, 240);
    const finiteMarks = marks.map(([, value]) => value).filter((value) => Number.isFinite(value));
    const range = [Math.min(edges[0], ...finiteMarks), Math.max(edges[BINS], ...finiteMarks)];
    const most = Math.max(...counts, 1);
    const x = (score) => SIZE.left + ((score - range[0]) / (range[1] - range[0])) * (width - SIZE.left - SIZE.right);
    const y = (count) => SIZE.height - SIZE.bottom - (count / most) * (SIZE.height - SIZE.bottom - SIZE.top);
    const frame = { x, y, width, range, most, ...latest };
    plot.replaceChildren(shape("svg", { viewBox: `0 0 ${width} ${SIZE.height}`, width, height: SIZE.height, role: "img", "aria-label": label },
      ...axes(frame), ...bars(frame), ...marks.flatMap(([name, value]) => (Number.isFinite(value) ? upright(name, x(value)) : []))));
  }

  function glyph(name) {
    const drawn = name === "half" ? [shape("rect", { class: "card-half", x: 1, y: 5, width: 22, height: 5 }), shape("rect", { class: "card-median", x: 10.5, y: 2, width: 3, height: 11 })]
      : [shape("line", { class: `card-mark card-mark-${name}`, x1: 12, x2: 12, y1: 1, y2: 15 }), ...(name === "mean" ? [shape("path", { class: "card-tip", d: "M7 0h10l-5 8z" })] : [])];
    return shape("svg", { width: 24, height: 16, "aria-hidden": "true" }, ...drawn);
  }

  function entry(name, text) {
    const item = create("li");
    item.append(glyph(name), text);
    return item;
  }

  function list({ edges, counts }) {
    body.replaceChildren(...[...counts].map((count, bin) => {
      const line = create("tr");
      const name = create("th", edgeOf(edges[bin]));
      name.scope = "row";
      line.append(name, create("td", edgeOf(edges[bin + 1])), create("td", count.toLocaleString("en")));
      return line;
    }));
  }

  /* Shows one role of one head; the last call wins where numbers are still being unpacked. */
  async function show(cell, number) {
    const request = `${cell} ${number}`;
    plot.dataset.asked = request;
    numbersPromise ??= numbers();
    const all = await numbersPromise;
    if (plot.dataset.asked !== request) return;
    const role = findings.roles[number];
    const [row, place] = [rowOf(role, cell), number * perSieve + cell];
    const counts = all.counts.subarray(place * BINS, (place + 1) * BINS);
    const edges = data.edges[number];
    const step = 10 ** -data.decimals[number];
    const five = Array.from(all.five.subarray(place * 5, (place + 1) * 5), (steps) => edges[0] + steps * step);
    const marks = [["chance", columns.null[row]], ["theta", role.threshold], ["mean", columns.mean[row]]];
    latest = { number, edges, counts, five, marks };
    const summary = sentence(all.scored[place], five);
    latest.label = `Histogram of ${inSentence(findings.sieves[role.sieve])}, ${titleOf(cell)}. ${summary}`;
    const bare = all.scored[place] === 0;
    sentencePlace.textContent = summary;
    plot.className = `card-plot tone-${role.tone}`;
    for (const part of [plot, key, body.closest("details")]) part.hidden = bare;
    document.getElementById("card-spread-note").textContent = bare ? "" : data.notes[number];
    if (bare) return;
    key.replaceChildren(...marks.map(([name, value]) => entry(name, `${{ chance: "chance", theta: "threshold", mean: "mean" }[name]} ${Number.isNaN(value) ? "–" : scoreOf(value)}`)), entry("half", "middle half, median"));
    key.className = `key static tone-${role.tone}`;
    list(latest);
    paint();
  }

  new ResizeObserver(paint).observe(plot);
  return { show };
};
