/* The tabs, the controls that all views share, and the start of the page. */
const views = { head: headView, model: modelView, neuron: neuronView };
const tabs = [...document.querySelectorAll("#view-tabs [role=tab]")];
let open = "";

function show(name) {
  open = name;
  for (const tab of tabs) {
    const mine = tab.dataset.show === name;
    tab.setAttribute("aria-selected", String(mine));
    tab.tabIndex = mine ? 0 : -1;
    by(`panel-${tab.dataset.show}`).hidden = !mine;
  }
  const { queries, keys } = mapsNow();
  by("view-picture").hidden = name === "neuron";
  by("view-controls").hidden = name === "neuron" && !by("view-kind");
  by("view-filter-label").hidden = queries !== keys || !queries.segment.includes(1);
  by("view-left").hidden = name === "neuron" || (chosen.specials && chosen.sink && chosen.from === "all");
  if (by("view-order-label")) by("view-order-label").hidden = !roles.known();
  if (by("view-keys-label")) by("view-keys-label").hidden = !roles.known();
  modelView.hide();
  controls();
  return views[name].renew();
}

/* The state of the controls: what is left out at first, whose keys are coloured, which token is alone. */
function controls() {
  for (const [name, place] of [["specials", 0], ["sink", 1]]) {
    const share = mapsNow().shares[place];
    by(`view-${name}`).checked = chosen[name];
    by(`view-${name}-share`).textContent = share >= 0.005 ? `${place ? "gets" : "get"} ${Math.round(100 * share)} % of the attention` : "";
  }
  if (by("view-keys")) by("view-keys").value = String(chosen.keys ?? "");
  if (chosen.only) by("view-only").textContent = `Only “${chosen.only.text}” ${chosen.only.side ? "is attended to" : "attends"} · show all`;
  by("view-only").hidden = !chosen.only;
  roles.key();
  if (open === "neuron") by("view-keys-key").hidden = true;
}

/* Tokens that get most of the attention are left out at first: they hide what else a head does. Where keys of a role
   are coloured, special tokens are shown if they are among these keys. */
function leaveOut() {
  [chosen.specials, chosen.sink] = mapsNow().shares.map((share) => share <= content.mostly);
  if (roles.coloured()) chosen.specials = roles.special();
}

/* A token alone in every picture, on its side; null for all tokens again. */
function isolateToken(side, unit) {
  const same = chosen.only && chosen.only.side === side;
  const place = unit?.places[0] ?? null;
  chosen.only = same || place === null ? null : { side, place, text: attention.shorten(unit.text) };
  headView.focusLater(side, 0);
  show(open);
}

async function chooseKeys(role) {
  await roles.load(role);
  chosen.keys = role;
  leaveOut();
  return show(open);
}

/* The settings of the controls in words, because the controls are not printed. */
function settingsText() {
  const { layers, heads } = mapsNow();
  const shown = [...chosen.heads].sort((one, other) => one - other).map((place) => heads[place]);
  const own = open === "neuron" ? shown.slice(0, 1) : shown;
  const picture = [
    chosen.level === "words" && "words",
    chosen.only && `only ${chosen.only.text}`,
    chosen.keys !== null && roles.known() && `keys of ${content.roles.titles[chosen.keys]}`,
    chosen.from !== "all" && `from ${"AB"[chosen.from]} to ${"AB"[chosen.to]}`,
    !chosen.specials && "without special tokens",
    !chosen.sink && "without the first token",
  ];
  return [
    by("view-kind")?.selectedOptions[0].text,
    open !== "model" && `layer ${layers[chosen.layer]}`,
    open !== "model" && `${own.length > 1 ? "heads" : "head"} ${products.spans(own)}`,
    ...(open === "neuron" ? [] : picture),
  ].filter(Boolean).join("; ");
}

function turnTo(name) {
  setHash(`#${name}`);
  return show(name);
}

function openHead(layer, head) {
  chosen.layer = layer;
  headView.choose(head);
  turnTo("head");
  by("tab-head").focus();
}

for (const tab of tabs) tab.addEventListener("click", () => turnTo(tab.dataset.show));
by("view-tabs").addEventListener("keydown", (event) => {
  roving(tabs, event, tabs.length);
  if (event.defaultPrevented) turnTo(document.activeElement.dataset.show);
});
/* Every control changes a choice and draws anew. */
const control = (name, change) => by(`view-${name}`)?.addEventListener("input", ({ target }) => {
  change(target);
  show(open);
});
for (const name of ["form", "level", "order"]) control(name, ({ value }) => { chosen[name] = value; });
for (const name of ["specials", "sink"]) control(name, ({ checked }) => { chosen[name] = checked; });
control("filter", ({ value }) => {
  [chosen.from, chosen.to] = value.split(",").map((text) => (text === "all" ? text : Number(text)));
});
control("kind", ({ value }) => {
  const kind = Number(value);
  const [layer, head] = kind === firstKind ? [firstLayer, firstHead] : [0, 0];
  Object.assign(chosen, { kind, layer, heads: new Set([head]), from: "all", to: "all", only: null });
  by("view-filter").value = "all,all";
  leaveOut();
});
by("view-only").addEventListener("click", () => isolateToken(0, null));
by("view-keys")?.addEventListener("input", ({ target }) => chooseKeys(target.value === "" ? null : Number(target.value)));

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show(open));
for (const name of ["beforeprint", "afterprint"]) {
  addEventListener(name, () => {
    document.documentElement.toggleAttribute("data-print", name === "beforeprint");
    by("view-printed").textContent = settingsText();
    views[open].repaint?.();
  });
}
/* The view that the address names, else the one given. */
const named = (other) => (Object.hasOwn(views, location.hash.slice(1)) ? location.hash.slice(1) : other);
addEventListener("hashchange", () => { if (named("")) show(named("")); });

by("view-app").hidden = false;
if (by("view-kind")) by("view-kind").value = String(firstKind);
leaveOut();
roles.choices();
if (roles.hasKeys(firstRole)) chooseKeys(firstRole);
show(named(by("view-app").dataset.show));
