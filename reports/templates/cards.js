/* The panel of a head: what it does, its examples, the evidence for its roles. It fills the panel at the side of the page.
   The document gets an event "head" with the number of the head that is shown. */
const LONGEST_NAME = 80;

/* A name within a sentence: cut where it is very long, its writing direction kept inside. */
function inSentence(name) {
  const letters = Array.from(name.slice(0, 2 * LONGEST_NAME));
  const text = letters.length > LONGEST_NAME ? `${letters.slice(0, LONGEST_NAME).join("")}…` : name;
  return /[^\x20-\x7e]/.test(text) ? `\u2068${text}\u2069` : text;
}

const chipOf = (role) => html("i", { class: `chip tone-${role.tone}`, "aria-hidden": "true" }, role.code);
for (const role of findings.roles) Object.assign(role, { strong: new Set(role.strong), absent: new Set(role.absent) });
const KINDS_OF_DECISIONS = ["role", "not", "undetermined", "untestable", "explained"];

/* Inputs that show what a head does, drawn when they come near the window: the keys of a role have its colour. */
function examplesOf(data) {
  const { isolate } = attention;
  const place = by("card-examples");
  const controls = by("card-drawn");
  const notePlace = by("card-examples-told");
  const shown = controls.querySelector("[data-switch='specials']");
  /* Where the first token is a special one, one switch is enough. */
  controls.querySelector("[data-switch='sink']").closest("label").hidden = !data.plain;
  const settings = { form: "lines", level: "words", sink: true };
  const RANKS = { 1: "Most typical", 2: "Second most typical", 3: "Third most typical", "-1": "Least typical", "-2": "Second least typical" };
  const NONE = -1;
  const LINKS = 3;
  const former = new Set(data.former);
  let drawings = new Map();
  let inputs;
  /* Whether special tokens are shown: as the role has it, until the reader says otherwise. */
  let specials;

  const nameOf = (number) => inSentence(findings.roles[number].title);

  /* One number per (query, key): 1 where the sieve of a role counts it; undefined where that is not known. */
  async function cellsOf(input, role, tokens) {
    const stored = data.counted.find(([place, number]) => place === input && number === role);
    return stored && attention.unpackBits(stored[2], tokens ** 2);
  }

  const showsSpecials = (role) => specials ?? Boolean(data.specials[role]);
  const settingsOf = ({ role }) => ({ ...settings, specials: showsSpecials(role) });

  async function draw(frame) {
    const drawing = { set() {}, remove() {} };
    drawings.set(frame, drawing);
    inputs ??= attention.unpackJson(data.examples);
    const { map, role, label } = frame.wanted;
    const [all, weights] = await Promise.all([inputs, attention.unpack(data.maps[map])]);
    const tokens = all[data.mapped[map]];
    const own = await cellsOf(data.mapped[map], role, tokens.pieces.length);
    if (drawings.get(frame) !== drawing) return;
    const tone = own ? `var(--tone-${findings.roles[role].tone})` : "var(--ink)";
    Object.assign(frame.wanted, { tokens, weights, own });
    drawings.set(frame, attention.draw(frame, { queries: tokens, keys: tokens, weights, label: `${label}, ${tokens.key}` }, { ...settingsOf(frame.wanted), tone, own, idle: false }));
    const key = frame.parentElement.querySelector("bdi");
    key.textContent = tokens.key;
    key.title = tokens.key;
    tell(frame);
  }

  /* The strongest links of an example, and how much attention goes to tokens that are hidden. */
  function tell(frame) {
    const { tokens, weights, own, role } = frame.wanted;
    const using = { ...settingsOf(frame.wanted), own };
    const { rows, columns, values, counted } = attention.matrix({ queries: tokens, keys: tokens, weights }, using);
    const cells = Array.from(values.keys()).filter((cell) => values[cell] > 0 && (!counted || counted[cell]));
    cells.sort((one, other) => values[other] - values[one] || one - other);
    const line = frame.parentElement.querySelector(".card-links");
    line.className = `card-links${own ? ` tone-${findings.roles[role].tone}` : ""}`;
    line.replaceChildren(...cells.slice(0, LINKS).map((cell) => {
      const [query, key] = [rows[Math.floor(cell / columns.length)], columns[cell % columns.length]];
      return html("span", { class: "card-pair" }, isolate(query.text), " → ", isolate(key.text), ` ${values[cell].toFixed(2)}`);
    }));
    if (counted && !cells.length) line.append(html("span", { class: "count" }, "No key of this role is shown."));
    const hidden = rows.length ? 1 - values.reduce((sum, value) => sum + value, 0) / rows.length : 0;
    if (hidden >= 0.005) line.append(html("span", { class: "count" }, `${Math.round(100 * hidden)} % to hidden tokens`));
  }

  const coming = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      coming.unobserve(target);
      draw(target);
    }
  }, { root: side.element, rootMargin: "300px" });

  function example(cell, number, [, , rank, score, map]) {
    const none = number === NONE;
    const name = none ? `Input ${rank}` : RANKS[rank] ?? `Rank ${rank}`;
    const label = `${none ? "no role" : nameOf(number)}, layer ${layerAt(cell)}, head ${cell % findings.heads}, ${name.toLowerCase()}`;
    const frame = html("div", { class: "card-host" });
    frame.wanted = { map, label, role: number };
    coming.observe(frame);
    const said = none ? " " : `: score ${score.toFixed(3).replace("-", "−")} `;
    const caption = html("figcaption", {}, html("strong", {}, name), said, html("bdi", { class: "count" }));
    return html("figure", { class: "card-example" }, caption, html("p", { class: "card-links" }), frame);
  }

  const grid = (cell, number, exhibits) => html("div", { class: "card-grid-of" }, exhibits.map((each) => example(cell, number, each)));

  function fold(summary, content, opened, look) {
    const details = html("details", { class: look }, html("summary", {}, summary), content);
    details.open = opened;
    return details;
  }

  function block(cell, number, exhibits, opened) {
    const [most, least] = [exhibits.filter(([, , rank]) => rank > 0), exhibits.filter(([, , rank]) => rank < 0)];
    const folded = least.length ? [fold(`Least typical (${least.length})`, grid(cell, number, least), !most.length, "card-least")] : [];
    const name = [chipOf(findings.roles[number]), html("span", {}, nameOf(number))];
    return fold(name, html("div", {}, grid(cell, number, most), folded), opened);
  }

  /* Notes on the examples, a sentence each. */
  function words(cell, missing, numbers, random) {
    if (!data.exhibits.length && data.kept) return [data.kept];
    const drawn = numbers.length || random.length;
    const marked = numbers.some((number) => data.counted.some(([, role]) => role === number));
    const unmarked = numbers.filter((number) => !data.counted.some(([, role]) => role === number)).map(nameOf);
    const names = missing.map((role) => nameOf(findings.roles.indexOf(role))).join(", ");
    return [
      drawn && !numbers.length && (former.has(cell) ? "The head lost the roles that these inputs were chosen for." : "Heads without a role show the same inputs, whatever their scores."),
      marked && "Coloured: keys that the role counts. Grey: other keys.",
      unmarked.length && (marked || drawn) && `No keys are coloured for ${unmarked.join(", ")}.`,
      drawn && "The stronger the colour, the stronger the attention.",
      names && `No examples are kept of ${names}.`,
      !drawn && !names && "No examples are kept of this head.",
      data.kept,
    ];
  }

  function clear() {
    coming.disconnect();
    drawings.forEach((drawing) => drawing.remove());
    drawings = new Map();
    place.replaceChildren();
  }

  /* Shows the examples of the roles that a head holds, in their order; wholes only where no part has any. */
  function show(cell, held, drawn) {
    clear();
    const own = data.exhibits.filter(([, head]) => head === cell);
    const of = (role) => own.filter(([number]) => number === findings.roles.indexOf(role));
    const parts = drawn.filter((role) => of(role).length);
    const withSome = parts.length ? parts : held.filter((role) => of(role).length);
    const numbers = withSome.map((role) => findings.roles.indexOf(role));
    const random = own.filter(([number]) => number === NONE);
    const missing = drawn.filter((role) => !of(role).length);
    notePlace.textContent = words(cell, missing, numbers, random).filter(Boolean).join(" ");
    controls.hidden = !numbers.length && !random.length;
    shown.checked = showsSpecials(numbers[0] ?? NONE);
    place.append(...withSome.map((role, turn) => block(cell, numbers[turn], of(role), turn === 0)));
    if (random.length) place.append(grid(cell, NONE, random));
  }

  function change() {
    drawings.forEach((drawing, frame) => {
      drawing.set(settingsOf(frame.wanted));
      if (frame.wanted.tokens) tell(frame);
    });
  }

  controls.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    press(button.parentElement.children, (other) => other === button);
    Object.assign(settings, button.dataset);
    change();
  });
  controls.addEventListener("change", (event) => {
    if (event.target === shown) specials = shown.checked;
    else settings.sink = event.target.checked;
    change();
  });
  return { show, clear };
}

/* The evidence for the roles of a head: a line each, with mean and interval of the score and of its contrast drawn. */
function evidenceOf() {
  const SIZE = { width: 80, height: 16, edge: 5 };
  const NUMBER_OF_DECISION = ["q", "q_not", "", "", "q_explained"];
  const SMALLEST = 1e-16;
  const thresholdOf = (row) => columns.null[row] + columns.margin[row];
  /* Small numbers of evidence: more digits would say nothing. */
  const small = (value) => (value < SMALLEST ? "< 1e−16" : `= ${value < 1e-3 ? value.toExponential(0) : shortNumber(value)}`.replace("-", "−"));

  /* The decision in words. */
  function decisionOf(role, cell) {
    const code = decisions[rowOf(role, cell)];
    if (code === 4) return role.verdict;
    return code === 1 && role.absent.has(cell) ? "absent" : KINDS_OF_DECISIONS[code] ?? "";
  }

  /* What the decision rests on: what it controls for, its corrected p, the probability of the role in another sample. */
  function supportOf(role, cell) {
    const row = rowOf(role, cell);
    const name = role.absent.has(cell) ? "q_absent" : NUMBER_OF_DECISION[decisions[row]];
    const parts = [];
    if (decisions[row] === 0 && role.stronger) parts.push(`beyond ${role.strong.has(cell) ? role.stronger : role.control}`);
    if (name && columns[name] && !Number.isNaN(columns[name][row])) parts.push(`q ${small(columns[name][row])}`);
    if (decisions[row] === 0 && columns.stability && !Number.isNaN(columns.stability[row])) parts.push(`stability ${cellText("stability", row)}`);
    return parts;
  }

  /* From the least to the largest number that a column draws, so that its lines can be compared. */
  function rangeOf(rows) {
    const numbers = rows.flatMap((row) => [...["mean", ...ENDS].map((name) => columns[name][row]), thresholdOf(row), 0]).filter(Number.isFinite);
    const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
    return [low, high > low ? high : low + 1];
  }

  function interval(row, [low, high], tone) {
    const x = (value) => SIZE.edge + ((Math.min(Math.max(value, low), high) - low) / (high - low)) * (SIZE.width - 2 * SIZE.edge);
    const middle = SIZE.height / 2;
    const [mean, from, to] = ["mean", ...ENDS].map((name) => columns[name][row]);
    const marks = [shape("line", { class: "card-axis", x1: 0, x2: SIZE.width, y1: middle, y2: middle })];
    const limit = thresholdOf(row);
    if (Number.isFinite(limit)) marks.push(shape("line", { class: "card-limit", x1: x(limit), x2: x(limit), y1: 1, y2: SIZE.height - 1 }));
    if (Number.isFinite(from) && Number.isFinite(to)) marks.push(shape("line", { class: "card-interval", x1: x(from), x2: x(to), y1: middle, y2: middle }));
    if (Number.isFinite(mean)) marks.push(shape("circle", { class: "card-dot", cx: x(mean), cy: middle, r: 3.5 }));
    return shape("svg", { class: `card-strip tone-${tone}`, width: SIZE.width, height: SIZE.height, viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, "aria-hidden": "true" }, ...marks);
  }

  function measured(row, range, tone) {
    if (row < 0) return html("td", {});
    if (Number.isNaN(columns.mean[row])) return html("td", {}, "–");
    const [mean, low, high] = ["mean", ...ENDS].map((name) => cellText(name, row));
    const [number, ends] = [mean, `[${low}, ${high}]`].map((text) => html("span", { class: "card-number" }, text));
    return html("td", {}, interval(row, range, tone), number, " ", ends);
  }

  function named(role) {
    const title = findings.sieves[role.sieve];
    return html("th", { scope: "row", title }, html("span", { class: "card-named" }, chipOf(role), html("bdi", {}, role.title)));
  }

  /* What the contrasts of some roles control for, as the heading of their column. */
  function headingOf(roles) {
    const controls = roles.filter((role) => role.contrast >= 0).map((role) => role.control);
    if (controls.every((control) => control === "values")) return "minus the score by norm";
    const [shortest] = controls.toSorted((one, other) => one.length - other.length);
    return controls.every((control) => control.startsWith(shortest)) ? `beyond ${shortest}` : "contrast";
  }

  /* The table of some roles of a head, in their order. */
  return (cell, roles) => {
    const compared = roles.some((role) => role.contrast >= 0);
    const rows = (name) => roles.filter((role) => role[name] >= 0).map((role) => role[name] * perSieve + cell);
    const [scores, contrasts] = [rangeOf(rows("sieve")), compared ? rangeOf(rows("contrast")) : []];
    const names = ["role", "score", ...(compared ? [headingOf(roles)] : []), "decision"].map((word) => html("th", { scope: "col" }, word));
    const lines = roles.map((role) => {
      const row = rowOf(role, cell);
      const contrast = compared ? [measured(role.contrast < 0 ? -1 : role.contrast * perSieve + cell, contrasts, role.tone)] : [];
      const verdict = html("td", { class: "words" }, decisionOf(role, cell), supportOf(role, cell).map((text) => html("small", {}, text)));
      return html("tr", { class: decisions[row] === 0 ? "held" : "" }, named(role), measured(row, scores, role.tone), contrast, verdict);
    });
    return html("table", { class: "numbers card-evidence" }, html("thead", {}, html("tr", {}, names)), html("tbody", {}, lines));
  };
}

/* Distribution of a head's scores over the inputs: a histogram with chance, θ and mean, and its table. */
function spreadOf(data) {
  const BINS = 24;
  const SIZE = { height: 190, left: 40, right: 14, top: 12, bottom: 44 };
  const plot = document.querySelector("#card-spread .card-plot");
  const key = by("card-spread-key");
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
  const edgeOf = (edge) => signed(String(edge));
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
    return [...drawn, ...halfOf(x(five[1]), Math.max(x(five[3]) - x(five[1]), 1), x(five[2]), base + 2)];
  }

  /* A line of a mark, with a tip for the mean. */
  const markOf = (name, x, y1, y2, tip) => [
    shape("line", { class: `card-mark card-mark-${name}`, x1: x, x2: x, y1, y2 }), ...(name === "mean" ? [shape("path", { class: "card-tip", d: tip })] : []),
  ];

  const upright = (name, at, [y1, y2] = [SIZE.top - 6, SIZE.height - SIZE.bottom]) => [
    shape("line", { class: "card-halo", x1: at, x2: at, y1, y2 }), ...markOf(name, at, y1, y2, `M${at - 5} ${SIZE.top - 10}h10l-5 9z`),
  ];
  /* The middle half of the inputs, and their median. */
  const halfOf = (from, wide, middle, y) => [
    shape("rect", { class: "card-half", x: from, y: y + 3, width: wide, height: 5 }), shape("rect", { class: "card-median", x: middle - 1.5, y, width: 3, height: 11 }),
  ];

  function paint() {
    if (!latest || plot.hidden) return;
    const { edges, counts, marks, label } = latest;
    const width = Math.max(plot.clientWidth, 240);
    const known = marks.filter(([, value]) => Number.isFinite(value));
    const ends = [edges[0], edges[BINS], ...known.map(([, value]) => value)];
    const range = [Math.min(...ends), Math.max(...ends)];
    const most = Math.max(...counts, 1);
    const x = (score) => SIZE.left + ((score - range[0]) / (range[1] - range[0])) * (width - SIZE.left - SIZE.right);
    const y = (count) => SIZE.height - SIZE.bottom - (count / most) * (SIZE.height - SIZE.bottom - SIZE.top);
    const frame = { x, y, width, range, most, ...latest };
    plot.replaceChildren(shape("svg", { viewBox: `0 0 ${width} ${SIZE.height}`, width, height: SIZE.height, role: "img", "aria-label": label },
      ...axes(frame), ...bars(frame), ...known.flatMap(([name, value]) => upright(name, x(value)))));
  }

  /* A line of the legend. */
  function entry(name, text) {
    const drawn = name === "half" ? halfOf(1, 22, 12, 2) : markOf(name, 12, 1, 15, "M7 0h10l-5 8z");
    return html("li", {}, shape("svg", { width: 24, height: 16, "aria-hidden": "true" }, drawn), text);
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
    const marks = [["chance", columns.null[row], "chance"], ["theta", role.threshold, "threshold"], ["mean", columns.mean[row], "mean"]];
    latest = { number, edges, counts, five, marks };
    const summary = sentence(all.scored[place], five);
    latest.label = `Histogram of ${inSentence(role.title)}, ${titleOf(cell)}. ${summary}`;
    const bare = all.scored[place] === 0;
    by("card-spread-told").textContent = summary;
    plot.className = `card-plot tone-${role.tone}`;
    for (const part of [plot, key, body.closest("details")]) part.hidden = bare;
    by("card-spread-note").textContent = bare ? "" : data.notes[number];
    if (bare) return;
    key.replaceChildren(...marks.map(([name, value, word]) => entry(name, `${word} ${Number.isNaN(value) ? "–" : scoreOf(value)}`)), entry("half", "middle half, median"));
    key.className = `key static tone-${role.tone}`;
    body.replaceChildren(...[...counts].map((count, bin) => html("tr", {},
      html("th", { scope: "row" }, edgeOf(edges[bin])), html("td", {}, edgeOf(edges[bin + 1])), html("td", {}, count.toLocaleString("en")))));
    paint();
  }

  new ResizeObserver(paint).observe(plot);
  return { show };
}

const cards = (() => {
  const title = by("head-card-title");
  const chooser = by("card-role");
  const link = by("card-link");
  const data = read("cards-data");
  const examples = examplesOf(data);
  const evidenceTable = evidenceOf();
  const spread = chooser && spreadOf(data);
  const MOST_LISTED = 15;
  let cell = -1;
  let preferred = "";
  let sentences;

  /* Heads that hold each role: few heads make a role telling. */
  const holders = new Map(findings.roles.map((role) => [role, every.filter((cell) => holds(role, cell)).length]));

  /* Roles a head holds: those that the fewest heads hold first, as in its sentence. */
  function heldRoles() {
    return findings.roles.filter((role) => holds(role, cell)).sort((one, other) => holders.get(one) - holders.get(other) || findings.roles.indexOf(one) - findings.roles.indexOf(other));
  }

  /* Held roles without those of which the head holds a part, such as "delimiter" beside "delimiter:cls". */
  const withoutWholes = (own) => own.filter((role) => !role.parts.some((part) => own.includes(findings.roles[part])));

  /* The role whose scores are shown: the one chosen, else the first held, else the one with the largest mean. */
  function first(own) {
    if (preferred !== "") return Number(preferred);
    if (own.length) return findings.roles.indexOf(own[0]);
    const numbers = findings.roles.map((_, number) => number);
    return sortRows(numbers, (number) => columns.mean[rowOf(findings.roles[number], cell)], -1)[0];
  }

  /* Heads of the layer that share keys and values with this one, where any do. */
  function sharing() {
    if (!findings.shared.length) return "";
    const others = every.filter((head) => head !== cell && layerAt(head) === layerAt(cell) && findings.shared[head] === findings.shared[cell]);
    const sharedWith = others.length > MOST_LISTED ? `${others.length} other heads of its layer` : others.map(headName).join(", ");
    return others.length ? ` It shares keys and values with ${sharedWith}.` : "";
  }

  const toldOfHeads = () => (sentences ??= attention.unpackJson(data.sentences));

  async function describe() {
    const asked = cell;
    const told = (await toldOfHeads())[asked] ?? "";
    if (asked === cell) by("card-told").textContent = `${told}${sharing()}`;
  }

  function roles(own) {
    const all = by("card-every");
    const beyond = (role) => columns.mean[rowOf(role, cell)] - role.threshold;
    const others = findings.roles.filter((role) => !own.includes(role));
    const order = sortRows(others.map((_, place) => place), (place) => beyond(others[place]), -1).map((place) => others[place]);
    by("card-roles").replaceChildren(evidenceTable(cell, all ? [...own, ...order].slice(0, MOST_LISTED) : [...own, ...order]));
    if (!all) return;
    const words = KINDS_OF_DECISIONS.map((word, code) => `${findings.roles.filter((role) => decisions[rowOf(role, cell)] === code).length} ${word}`);
    by("card-counted").textContent = `Of ${findings.roles.length} roles: ${words.join(", ")}.`;
    all.querySelector("div").replaceChildren(evidenceTable(cell, [...own, ...order]));
  }

  function fillCard() {
    const held = heldRoles();
    const drawn = withoutWholes(held);
    const own = [...drawn, ...held.filter((role) => !drawn.includes(role))];
    title.textContent = titleOf(cell);
    link.href = `#head-${headName(cell)}`;
    link.textContent = link.hash;
    describe();
    examples.show(cell, own, drawn);
    roles(own);
    document.dispatchEvent(new CustomEvent("head", { detail: cell }));
    if (!spread) return;
    chooser.value = String(first(own));
    spread.show(cell, Number(chooser.value));
  }

  function open(to) {
    cell = to;
    fillCard();
    setHash(`#head-${headName(cell)}`);
    if (!side.isOpen) {
      side.show();
      title.focus();
    }
    side.element.scrollTop = 0;
  }

  function goTo(to) {
    open(to);
    title.focus();
  }

  function leave() {
    examples.clear();
    if (location.hash.startsWith("#head-")) setHash("");
    preferred = "";
  }

  function follow() {
    if (addressed() >= 0) open(addressed());
    else if (side.isOpen) side.close();
  }

  /* Arrows lead from head to head, but not where they have a meaning of their own. */
  function walk(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -findings.heads, ArrowDown: findings.heads }[event.key];
    const busy = event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey;
    if (!step || busy || event.target.closest("select, input, .scroll, [role='toolbar']")) return;
    goTo((cell + step + perSieve) % perSieve);
    event.preventDefault();
  }

  side.element.addEventListener("close", leave);
  side.element.addEventListener("keydown", walk);
  link.addEventListener("click", (event) => {
    event.preventDefault();
    navigator.clipboard?.writeText(link.href).then(() => { link.textContent = "link copied"; }, () => {});
  });
  by("card-close").addEventListener("click", side.close);
  by("card-previous").addEventListener("click", () => open((cell + perSieve - 1) % perSieve));
  by("card-next").addEventListener("click", () => open((cell + 1) % perSieve));
  by("card-near")?.addEventListener("click", (event) => {
    const to = event.target.closest("a");
    if (!to) return;
    event.preventDefault();
    goTo(cellNamed(...to.hash.split("-").slice(1)));
  });
  chooser?.addEventListener("input", () => {
    preferred = chooser.value;
    spread.show(cell, Number(preferred));
  });
  addEventListener("hashchange", follow);
  follow();
  /* While a page loads, the browser takes the focus back to its body. */
  addEventListener("load", () => setTimeout(() => { if (side.isOpen && document.activeElement === document.body) title.focus(); }));
  return { open, sentences: toldOfHeads };
})();

/* Opens the panel of a head; for every other script of the page. */
const openHead = (cell) => cards.open(cell);
