/* Cards of heads: all results of one head, in a dialog over the page. */
const LONGEST_NAME = 80;

/* A name within a sentence: cut where it is very long, its writing direction kept inside. */
function inSentence(name) {
  const letters = Array.from(name.slice(0, 2 * LONGEST_NAME));
  const text = letters.length > LONGEST_NAME ? `${letters.slice(0, LONGEST_NAME).join("")}…` : name;
  return /[^\x20-\x7e]/.test(text) ? `\u2068${text}\u2069` : text;
}

const cards = (() => {
  const dialog = document.getElementById("head-card");
  const title = document.getElementById("head-card-title");
  const chooser = document.getElementById("card-role");
  const data = read("cards-data");
  const examples = examplesOf(data);
  const spread = chooser && spreadOf(data);
  const size = findings.layers * findings.heads;
  let cell = -1;
  let preferred = "";
  let clusterData;

  /* Roles a head holds: the largest effect first, those without one last. */
  function heldRoles() {
    const own = findings.roles.map((role, number) => number).filter((number) => decisions[rowOf(findings.roles[number], cell)] === 0);
    return sortRows(own, (number) => columns.effect[rowOf(findings.roles[number], cell)], -1).map((number) => findings.roles[number]);
  }

  /* The role whose scores are shown: the one chosen, else the first held, else the one with the largest mean. */
  function first(own) {
    if (preferred !== "") return Number(preferred);
    if (own.length) return findings.roles.indexOf(own[0]);
    const numbers = findings.roles.map((_, number) => number);
    return sortRows(numbers, (number) => columns.mean[rowOf(findings.roles[number], cell)], -1)[0];
  }

  /* Clusters and nearest heads; null where the run has none. */
  function clusters() {
    if (!document.getElementById("clusters-data")) return null;
    if (clusterData) return clusterData;
    const stored = read("clusters-data");
    const floats = (text) => new Float32Array(bytes(text).buffer);
    clusterData = {
      cluster: stored.cluster,
      near: new Uint32Array(bytes(stored.near).buffer),
      ...Object.fromEntries(Object.entries(stored.ends).map(([name, text]) => [name, floats(text)])),
      ...Object.fromEntries(["silhouette", "stability"].map((name) => [name, new Float64Array(bytes(stored.columns[name]).buffer)])),
    };
    return clusterData;
  }

  const clusterOf = (found, head) => (found.cluster[head] < 0 ? "no cluster" : `cluster ${found.cluster[head]}`);
  const namesOf = (roles) => roles.map((role) => inSentence(findings.sieves[role.sieve])).join(", ");

  /* Heads of the layer that share keys and values with this one, where any do. */
  function sharing() {
    if (!findings.shared.length) return "";
    const start = cell - (cell % findings.heads);
    const heads = Array.from({ length: findings.heads }, (_, head) => start + head);
    const others = heads.filter((head) => head !== cell && findings.shared[head] === findings.shared[cell]);
    const names = others.map((head) => `${Math.floor(head / findings.heads)}-${head % findings.heads}`);
    const sharedWith = names.length > MOST ? `${names.length} other heads of its layer` : names.join(", ");
    return others.length ? `Shares keys and values with ${sharedWith}.` : "";
  }

  function describe(own) {
    const found = clusters();
    const names = own.length > MOST ? `${own.length} roles` : namesOf(own);
    const sentences = [own.length ? `Holds ${names} (${own.length} of ${findings.roles.length}).` : `Holds none of ${findings.roles.length} roles.`];
    if (found) {
      const others = found.cluster.filter((each) => each === found.cluster[cell]).length - 1;
      const numbers = ["silhouette", "stability"].filter((name) => !Number.isNaN(found[name][cell])).map((name) => `${name} ${found[name][cell].toFixed(2).replace("-", "−")}`);
      const beside = found.cluster[cell] < 0 ? "" : others ? ` with ${others} other ${others === 1 ? "head" : "heads"}` : ", alone in it";
      const name = clusterOf(found, cell);
      sentences.push(`${name[0].toUpperCase()}${name.slice(1)}${beside}${numbers.length ? `; ${numbers.join(", ")}` : ""}.`);
    }
    document.getElementById("card-told").textContent = [...sentences, sharing()].filter(Boolean).join(" ");
  }

  function evidenceTable(roles) {
    const table = evidence(cell, roles, true);
    table.className = "numbers card-evidence";
    roles.forEach((role, place) => { table.tBodies[0].rows[place].cells[0].title = findings.sieves[role.sieve]; });
    return table;
  }

  function roles(own) {
    const every = document.getElementById("card-every");
    const others = findings.roles.filter((role) => !own.includes(role));
    document.getElementById("card-roles").replaceChildren(evidenceTable(every ? own.slice(0, MOST) : [...own, ...others]));
    if (!every) return;
    document.getElementById("card-counted").textContent = `${countsText(cell)}.`;
    every.querySelector("div").replaceChildren(evidenceTable([...own, ...others]));
  }

  function neighbour(found, place) {
    const line = create("tr");
    const head = found.near[place];
    const button = create("button", `${Math.floor(head / findings.heads)}-${head % findings.heads}`);
    button.type = "button";
    button.dataset.head = head;
    button.setAttribute("aria-label", `Open the card of ${titleOf(head).toLowerCase()}`);
    const name = heading(create("th"), "row");
    name.append(button);
    const [far, low, high] = ["distance", "low", "high"].map((end) => (Number.isNaN(found[end][place]) ? "–" : found[end][place].toFixed(3)));
    const own = namesOf(findings.roles.filter((role) => decisions[rowOf(role, head)] === 0)) || "none";
    line.append(name, create("td", low === "–" ? far : `${far} [${low}, ${high}]`), create("td", clusterOf(found, head), "words"), create("td", own, "words"));
    return line;
  }

  function nearest() {
    const found = clusters();
    if (!found) return;
    const nearestCount = found.near.length / size;
    const lines = Array.from({ length: nearestCount }, (_, place) => neighbour(found, cell * nearestCount + place));
    document.querySelector("#card-near tbody").replaceChildren(...lines);
  }

  function fillCard() {
    const own = heldRoles();
    title.replaceChildren(titleOf(cell), create("small", " (both counted from 0)"));
    describe(own);
    roles(own);
    nearest();
    examples.show(cell, own);
    if (!spread) return;
    chooser.value = String(first(own));
    spread.show(cell, Number(chooser.value));
  }

  /* The address of the page names the head, where the page may change it. */
  function address(hash) {
    try {
      history.replaceState(null, "", hash || location.pathname + location.search);
    } catch {
      /* Pages inside other pages have no address of their own. */
    }
  }

  function open(to) {
    cell = to;
    hide();
    fillCard();
    address(`#head-${Math.floor(cell / findings.heads)}-${cell % findings.heads}`);
    if (!dialog.open) {
      dialog.showModal();
      title.focus();
    }
    dialog.scrollTop = 0;
  }

  function goTo(to) {
    open(to);
    title.focus();
  }

  function follow() {
    const [, layer, head] = /^#head-(\d+)-(\d+)$/.exec(location.hash)?.map(Number) ?? [];
    if (layer < findings.layers && head < findings.heads) open(layer * findings.heads + head);
    else if (dialog.open) dialog.close();
  }

  dialog.addEventListener("close", () => {
    examples.clear();
    if (location.hash.startsWith("#head-")) address("");
    preferred = "";
    move(cell);
    hide();
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  document.getElementById("card-close").addEventListener("click", () => dialog.close());
  document.getElementById("card-previous").addEventListener("click", () => open((cell + size - 1) % size));
  document.getElementById("card-next").addEventListener("click", () => open((cell + 1) % size));
  document.getElementById("card-near")?.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) goTo(Number(button.dataset.head));
  });
  chooser?.addEventListener("input", () => {
    preferred = chooser.value;
    spread.show(cell, Number(preferred));
  });
  addEventListener("hashchange", follow);
  follow();
  return { open };
})();
