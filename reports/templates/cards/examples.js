/* Inputs that show what a head does, drawn when they come near the window: the keys of a role have its colour. */
const examplesOf = (data) => {
  const { html, isolate } = attention;
  const place = document.getElementById("card-examples");
  const controls = document.getElementById("card-drawn");
  const notePlace = document.getElementById("card-examples-told");
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

  const nameOf = (number) => inSentence(data.titles[number] ?? findings.sieves[findings.roles[number].sieve]);

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
    for (const other of button.parentElement.children) other.setAttribute("aria-pressed", String(other === button));
    Object.assign(settings, button.dataset);
    change();
  });
  controls.addEventListener("change", (event) => {
    if (event.target === shown) specials = shown.checked;
    else settings.sink = event.target.checked;
    change();
  });
  return { show, clear };
};
