/* The evidence for the roles of a head: a line each, with mean and interval of the score and of its contrast drawn. */
const evidenceOf = (data) => {
  const SIZE = { width: 80, height: 16, edge: 5 };
  const NAMES = ["role", "not", "undetermined", "untestable"];
  const NUMBER_OF_DECISION = ["q", "q_not", "", "", "q_explained"];
  const SMALLEST = 1e-16;

  const rowOfHead = (sieve, cell) => sieve * perSieve + cell;
  const thresholdOf = (row) => columns.null[row] + columns.margin[row];
  const isAbsent = (role, cell) => (role.absent instanceof Set ? role.absent.has(cell) : role.absent.includes(cell));
  const isStrong = (role, cell) => (role.strong instanceof Set ? role.strong.has(cell) : role.strong.includes(cell));
  /* Small numbers of evidence: more digits would say nothing. */
  const small = (value) => (value < SMALLEST ? "< 1e−16" : `= ${value < 1e-3 ? value.toExponential(0) : shortNumber(value)}`.replace("-", "−"));

  /* The decision in words. */
  function decisionOf(role, cell) {
    const code = decisions[rowOfHead(role.sieve, cell)];
    if (code === 4) return role.verdict;
    return code === 1 && isAbsent(role, cell) ? "absent" : NAMES[code] ?? "";
  }

  /* What the decision rests on: what it controls for, its corrected p, the probability of the role in another sample. */
  function supportOf(role, cell) {
    const row = rowOfHead(role.sieve, cell);
    const name = isAbsent(role, cell) ? "q_absent" : NUMBER_OF_DECISION[decisions[row]];
    const parts = [];
    if (decisions[row] === 0 && role.stronger) parts.push(`beyond ${isStrong(role, cell) ? role.stronger : role.control}`);
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
    const place = create("td");
    if (row < 0) return place;
    const [mean, low, high] = ["mean", ...ENDS].map((name) => cellText(name, row));
    if (Number.isNaN(columns.mean[row])) place.append("–");
    else place.append(interval(row, range, tone), create("span", mean, "card-number"), " ", create("span", `[${low}, ${high}]`, "card-number"));
    return place;
  }

  function named(role, number) {
    const line = create("th");
    line.scope = "row";
    const name = findings.sieves[role.sieve];
    line.title = name;
    const both = create("span", undefined, "card-named");
    both.append(create("i", role.code, `chip tone-${role.tone}`), create("bdi", data.titles[number] ?? name));
    both.firstChild.setAttribute("aria-hidden", "true");
    line.append(both);
    return line;
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
    const made = create("table", undefined, "numbers card-evidence");
    const top = made.createTHead().insertRow();
    for (const word of ["role", "score", ...(compared ? [headingOf(roles)] : []), "decision"]) {
      const name = create("th", word);
      name.scope = "col";
      top.append(name);
    }
    const body = made.createTBody();
    for (const role of roles) {
      const line = body.insertRow();
      line.className = decisions[rowOfHead(role.sieve, cell)] === 0 ? "held" : "";
      const verdict = create("td", decisionOf(role, cell), "words");
      verdict.append(...supportOf(role, cell).map((text) => create("small", text)));
      line.append(named(role, findings.roles.indexOf(role)), measured(rowOfHead(role.sieve, cell), scores, role.tone));
      if (compared) line.append(measured(role.contrast < 0 ? -1 : rowOfHead(role.contrast, cell), contrasts, role.tone));
      line.append(verdict);
    }
    return made;
  }

  return { table };
};
