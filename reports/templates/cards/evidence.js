/* The evidence for the roles of a head: a line each, with mean and interval of the score and of its contrast drawn. */
const evidenceOf = (data) => {
  const SIZE = { width: 80, height: 16, edge: 5 };
  const NAMES = ["role", "not", "undetermined", "untestable"];
  const NUMBER_OF_DECISION = ["q", "q_not", "", "", "q_explained"];
  const SMALLEST = 1e-16;

  const { html, svg } = attention;
  const rowOfHead = (sieve, cell) => sieve * perSieve + cell;
  const thresholdOf = (row) => columns.null[row] + columns.margin[row];
  const isAmong = (heads, cell) => (heads instanceof Set ? heads.has(cell) : heads.includes(cell));
  /* Small numbers of evidence: more digits would say nothing. */
  const small = (value) => (value < SMALLEST ? "< 1e−16" : `= ${value < 1e-3 ? value.toExponential(0) : shortNumber(value)}`.replace("-", "−"));

  /* The decision in words. */
  function decisionOf(role, cell) {
    const code = decisions[rowOfHead(role.sieve, cell)];
    if (code === 4) return role.verdict;
    return code === 1 && isAmong(role.absent, cell) ? "absent" : NAMES[code] ?? "";
  }

  /* What the decision rests on: what it controls for, its corrected p, the probability of the role in another sample. */
  function supportOf(role, cell) {
    const row = rowOfHead(role.sieve, cell);
    const name = isAmong(role.absent, cell) ? "q_absent" : NUMBER_OF_DECISION[decisions[row]];
    const parts = [];
    if (decisions[row] === 0 && role.stronger) parts.push(`beyond ${isAmong(role.strong, cell) ? role.stronger : role.control}`);
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
    const marks = [svg("line", { class: "card-axis", x1: 0, x2: SIZE.width, y1: middle, y2: middle })];
    const limit = thresholdOf(row);
    if (Number.isFinite(limit)) marks.push(svg("line", { class: "card-limit", x1: x(limit), x2: x(limit), y1: 1, y2: SIZE.height - 1 }));
    if (Number.isFinite(from) && Number.isFinite(to)) marks.push(svg("line", { class: "card-interval", x1: x(from), x2: x(to), y1: middle, y2: middle }));
    if (Number.isFinite(mean)) marks.push(svg("circle", { class: "card-dot", cx: x(mean), cy: middle, r: 3.5 }));
    return svg("svg", { class: `card-strip tone-${tone}`, width: SIZE.width, height: SIZE.height, viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, "aria-hidden": "true" }, ...marks);
  }

  function measured(row, range, tone) {
    if (row < 0) return html("td", {});
    if (Number.isNaN(columns.mean[row])) return html("td", {}, "–");
    const [mean, low, high] = ["mean", ...ENDS].map((name) => cellText(name, row));
    const [number, ends] = [mean, `[${low}, ${high}]`].map((text) => html("span", { class: "card-number" }, text));
    return html("td", {}, interval(row, range, tone), number, " ", ends);
  }

  function named(role, number) {
    const title = findings.sieves[role.sieve];
    return html("th", { scope: "row", title }, html("span", { class: "card-named" }, chipOf(role), html("bdi", {}, data.titles[number] ?? title)));
  }

  /* What the contrasts of some roles control for, as the heading of their column. */
  function headingOf(roles) {
    const controls = roles.filter((role) => role.contrast >= 0).map((role) => role.control);
    if (controls.every((control) => control === "values")) return "minus the score by norm";
    const [shortest] = controls.toSorted((one, other) => one.length - other.length);
    return controls.every((control) => control.startsWith(shortest)) ? `beyond ${shortest}` : "contrast";
  }

  /* The table of some roles of a head, in their order. */
  function table(cell, roles) {
    const compared = roles.some((role) => role.contrast >= 0);
    const rows = (name) => roles.filter((role) => role[name] >= 0).map((role) => rowOfHead(role[name], cell));
    const [scores, contrasts] = [rangeOf(rows("sieve")), compared ? rangeOf(rows("contrast")) : []];
    const names = ["role", "score", ...(compared ? [headingOf(roles)] : []), "decision"].map((word) => html("th", { scope: "col" }, word));
    const lines = roles.map((role) => {
      const row = rowOfHead(role.sieve, cell);
      const contrast = compared ? [measured(role.contrast < 0 ? -1 : rowOfHead(role.contrast, cell), contrasts, role.tone)] : [];
      const verdict = html("td", { class: "words" }, decisionOf(role, cell), supportOf(role, cell).map((text) => html("small", {}, text)));
      return html("tr", { class: decisions[row] === 0 ? "held" : "" }, named(role, findings.roles.indexOf(role)), measured(row, scores, role.tone), contrast, verdict);
    });
    return html("table", { class: "numbers card-evidence" }, html("thead", {}, html("tr", {}, names)), html("tbody", {}, lines));
  }

  return table;
};
