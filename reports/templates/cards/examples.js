/* The inputs on which a head follows its roles most and least, drawn when they come near the window. */
const examplesOf = (data) => {
  const place = document.getElementById("card-examples");
  const controls = document.getElementById("card-drawn");
  const dialog = document.getElementById("head-card");
  const notePlace = document.getElementById("card-examples-told");
  const settings = { form: "lines", level: "pieces", specials: true, sink: true };
  const RANKS = { 1: "Most typical", 2: "Second most typical", 3: "Third most typical", "-1": "Least typical", "-2": "Second least typical" };
  let drawings = new Map();
  let inputs;

  async function unpackedInputs() {
    return JSON.parse(new TextDecoder().decode(await attention.unpack(data.examples)));
  }

  async function draw(host) {
    const drawing = { set() {}, remove() {} };
    drawings.set(host, drawing);
    inputs ??= unpackedInputs();
    const { map, label, tone } = host.wanted;
    const [all, weights] = await Promise.all([inputs, attention.unpack(data.maps[map])]);
    if (drawings.get(host) !== drawing) return;
    const tokens = all[data.mapped[map]];
    drawings.set(host, attention.draw(host, { queries: tokens, keys: tokens, weights, label: `${label}, ${tokens.key}` }, { ...settings, tone }));
    const key = host.parentElement.querySelector("bdi");
    key.textContent = tokens.key;
    key.title = tokens.key;
  }

  const coming = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      coming.unobserve(target);
      draw(target);
    }
  }, { root: dialog, rootMargin: "300px" });

  function example(cell, role, [, , rank, score, map]) {
    const figure = create("figure", undefined, "card-example");
    const caption = create("figcaption");
    caption.append(create("strong", RANKS[rank] ?? `Rank ${rank}`), `: score ${score.toFixed(3).replace("-", "−")} `, create("bdi", "", "count"));
    const host = create("div", undefined, "card-host");
    const label = `${inSentence(findings.sieves[role.sieve])}, ${titleOf(cell)}, ${(RANKS[rank] ?? `rank ${rank}`).toLowerCase()}`;
    host.wanted = { map, label, tone: `var(--tone-${role.tone})` };
    coming.observe(host);
    figure.append(caption, host);
    return figure;
  }

  function block(cell, role, exhibits, opened) {
    const details = create("details");
    details.open = opened;
    const summary = create("summary");
    summary.append(chip(role), create("span", inSentence(findings.sieves[role.sieve])), create("span", `${exhibits.length} ${exhibits.length === 1 ? "example" : "examples"}`, "count"));
    const grid = create("div", undefined, "card-grid-of");
    grid.append(...exhibits.map((each) => example(cell, role, each)));
    details.append(summary, grid);
    return details;
  }

  /* Notes on the examples, a sentence each. */
  function words(held, without, shown) {
    if (!data.exhibits.length && data.kept) return [data.kept];
    if (!held.length) return ["This head holds no role; examples are shown of the roles a head holds.", data.kept];
    const names = without.map((role) => inSentence(findings.sieves[role.sieve])).join(", ");
    return [
      shown ? "Attention of this head in steps of 1/255. Tokens can be left out of the pictures; what is left is then not scaled up." : "",
      names && `No examples are kept of ${names}.`,
      data.kept,
    ];
  }

  function clear() {
    coming.disconnect();
    drawings.forEach((drawing) => drawing.remove());
    drawings = new Map();
    place.replaceChildren();
  }

  /* Shows the examples of the roles a head holds, given in the order they are to be in. */
  function show(cell, held) {
    clear();
    const own = data.exhibits.filter(([, head]) => head === cell);
    const of = (role) => own.filter(([number]) => findings.roles[number] === role);
    const [withSome, without] = [held.filter((role) => of(role).length), held.filter((role) => !of(role).length)];
    notePlace.textContent = words(held, without, withSome.length).filter(Boolean).join(" ");
    controls.hidden = !withSome.length;
    place.append(...withSome.map((role, number) => block(cell, role, of(role), number === 0 || withSome.length < 3)));
  }

  function press(button, name) {
    for (const other of button.parentElement.children) other.setAttribute("aria-pressed", String(other === button));
    settings[name] = button.dataset[name];
  }

  controls.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    press(button, button.dataset.form ? "form" : "level");
    drawings.forEach((drawing) => drawing.set({ ...settings }));
  });
  controls.addEventListener("change", (event) => {
    settings[event.target.dataset.switch] = event.target.checked;
    drawings.forEach((drawing) => drawing.set({ ...settings }));
  });
  return { show, clear };
};
