/* The panel of a head: what it does, its examples, the evidence for its roles. It fills the panel at the side of the page.
   The document gets an event "head" with the number of the head that is shown. */
const LONGEST_NAME = 80;

/* A name within a sentence: cut where it is very long, its writing direction kept inside. */
function inSentence(name) {
  const letters = Array.from(name.slice(0, 2 * LONGEST_NAME));
  const text = letters.length > LONGEST_NAME ? `${letters.slice(0, LONGEST_NAME).join("")}…` : name;
  return /[^\x20-\x7e]/.test(text) ? `\u2068${text}\u2069` : text;
}

const chipOf = (role) => attention.html("i", { class: `chip tone-${role.tone}`, "aria-hidden": "true" }, role.code);

const cards = (() => {
  const title = document.getElementById("head-card-title");
  const chooser = document.getElementById("card-role");
  const link = document.getElementById("card-link");
  const data = read("cards-data");
  const examples = examplesOf(data);
  const evidenceTable = evidenceOf(data);
  const spread = chooser && spreadOf(data);
  const MOST_LISTED = 15;
  let cell = -1;
  let preferred = "";
  let sentences;

  /* Heads that hold each role: few heads make a role telling. */
  const holders = new Map(findings.roles.map((role) => {
    const start = role.sieve * perSieve;
    return [role, decisions.subarray(start, start + perSieve).reduce((count, code) => count + (code === 0), 0)];
  }));

  /* Roles a head holds: those that the fewest heads hold first, as in its sentence. */
  function heldRoles() {
    const own = findings.roles.filter((role) => decisions[rowOf(role, cell)] === 0);
    return own.sort((one, other) => holders.get(one) - holders.get(other) || findings.roles.indexOf(one) - findings.roles.indexOf(other));
  }

  /* Held roles without those of which the head holds a part, such as "delimiter" beside "delimiter:cls". */
  function withoutWholes(own) {
    return own.filter((role) => !role.parts.some((part) => own.includes(findings.roles[part])));
  }

  /* The role whose scores are shown: the one chosen, else the first held, else the one with the largest mean. */
  function first(own) {
    if (preferred !== "") return Number(preferred);
    if (own.length) return findings.roles.indexOf(own[0]);
    const numbers = findings.roles.map((_, number) => number);
    return sortRows(numbers, (number) => columns.mean[rowOf(findings.roles[number], cell)], -1)[0];
  }

  const namesOf = (roles) => roles.map((role) => inSentence(findings.sieves[role.sieve])).join(", ");

  /* Heads of the layer that share keys and values with this one, where any do. */
  function sharing() {
    if (!findings.shared.length) return "";
    const start = cell - (cell % findings.heads);
    const heads = Array.from({ length: findings.heads }, (_, head) => start + head);
    const others = heads.filter((head) => head !== cell && findings.shared[head] === findings.shared[cell]);
    const sharedWith = others.length > MOST_LISTED ? `${others.length} other heads of its layer` : others.map(headName).join(", ");
    return others.length ? ` It shares keys and values with ${sharedWith}.` : "";
  }

  const toldOfHeads = () => (sentences ??= attention.unpackJson(data.sentences));

  async function describe() {
    const asked = cell;
    const told = (await toldOfHeads())[asked] ?? "";
    if (asked === cell) document.getElementById("card-told").textContent = `${told}${sharing()}`;
  }

  function roles(own) {
    const every = document.getElementById("card-every");
    const beyond = (role) => columns.mean[rowOf(role, cell)] - role.threshold;
    const others = findings.roles.filter((role) => !own.includes(role));
    const order = sortRows(others.map((_, place) => place), (place) => beyond(others[place]), -1).map((place) => others[place]);
    document.getElementById("card-roles").replaceChildren(evidenceTable(cell, every ? [...own, ...order].slice(0, MOST_LISTED) : [...own, ...order]));
    if (!every) return;
    const counts = [0, 0, 0, 0, 0];
    for (const role of findings.roles) counts[decisions[rowOf(role, cell)]] += 1;
    const words = ["role", "not", "undetermined", "untestable", "explained"].map((word, code) => `${counts[code]} ${word}`);
    document.getElementById("card-counted").textContent = `Of ${findings.roles.length} roles: ${words.join(", ")}.`;
    every.querySelector("div").replaceChildren(evidenceTable(cell, [...own, ...order]));
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
    const [, layer, head] = /^#head-(\d+)-(\d+)$/.exec(location.hash)?.map(Number) ?? [];
    const named = cellNamed(layer, head);
    if (named >= 0) open(named);
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
  document.getElementById("card-close").addEventListener("click", side.close);
  document.getElementById("card-previous").addEventListener("click", () => open((cell + perSieve - 1) % perSieve));
  document.getElementById("card-next").addEventListener("click", () => open((cell + 1) % perSieve));
  document.getElementById("card-near")?.addEventListener("click", (event) => {
    const to = event.target.closest("a");
    if (!to) return;
    event.preventDefault();
    const [, layer, head] = to.hash.split("-");
    goTo(cellNamed(layer, head));
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
