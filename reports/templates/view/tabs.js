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
  return views[name].renew();
}

/* The view stands in the address where that may be changed; within a notebook it may not. */
function remember(name) {
  try {
    history.replaceState(null, "", `#${name}`);
  } catch {
    /* Nothing is lost but the address. */
  }
}

/* The settings of the controls in words, because the controls are not printed. */
function settingsText() {
  const { layers, heads } = mapsNow();
  const shown = [...chosen.heads].sort((one, other) => one - other).map((place) => heads[place]);
  const own = open === "neuron" ? shown.slice(0, 1) : shown;
  const picture = [
    chosen.level === "words" && "words",
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
  remember(name);
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
for (const name of ["form", "level"]) {
  by(`view-${name}`).addEventListener("input", (event) => {
    chosen[name] = event.target.value;
    show(open);
  });
}
for (const name of ["specials", "sink"]) {
  by(`view-${name}`).addEventListener("input", (event) => {
    chosen[name] = event.target.checked;
    show(open);
  });
}
by("view-filter").addEventListener("input", (event) => {
  [chosen.from, chosen.to] = event.target.value.split(",").map((text) => (text === "all" ? text : Number(text)));
  show(open);
});
by("view-kind")?.addEventListener("input", (event) => {
  Object.assign(chosen, { kind: Number(event.target.value), layer: 0, heads: new Set([0]), from: "all", to: "all" });
  by("view-filter").value = "all,all";
  show(open);
});

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show(open));
for (const name of ["beforeprint", "afterprint"]) {
  addEventListener(name, () => {
    if (name === "beforeprint") document.documentElement.dataset.print = "";
    else delete document.documentElement.dataset.print;
    by("view-printed").textContent = settingsText();
    views[open].repaint?.();
  });
}
addEventListener("hashchange", () => { if (Object.hasOwn(views, location.hash.slice(1))) show(location.hash.slice(1)); });

by("view-app").hidden = false;
show(Object.hasOwn(views, location.hash.slice(1)) ? location.hash.slice(1) : by("view-app").dataset.show);
