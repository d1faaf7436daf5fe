/* The roles that a run found in the heads, and the keys of a role on this input. Without a run, there are none. */
const roles = (() => {
  const data = content.roles;
  const cellOf = (layer, head) => layer * content.maps[data.kind].heads.length + head;
  const known = () => data !== null && chosen.kind === data.kind;
  const all = data ? [...data.names.keys()] : [];
  const counts = all.map((role) => [...data.drawn[role]].filter((held) => held === "1").length);
  /* The rarest role first: it says most about a head. */
  const rarest = [...all].sort((one, other) => counts[one] - counts[other] || one - other);

  const of = (layer, head) => (known() ? rarest.filter((role) => data.drawn[role][cellOf(layer, head)] === "1") : []);

  function chip(role, tone = data.tones[role]) {
    const one = create("i", data.marks[role], `chip tone-${tone}`);
    one.setAttribute("aria-hidden", "true");
    return one;
  }

  const titles = (layer, head) => of(layer, head).map((role) => data.titles[role]);

  /* A line for every role of a head, and for every score that something else explains. */
  function lines(layer, head) {
    if (!known()) return [];
    const cell = cellOf(layer, head);
    const told = rarest.filter((role) => data.drawn[role][cell] === "1" || data.decision[role][cell] === "4");
    told.sort((one, other) => Number(data.decision[one][cell]) - Number(data.decision[other][cell]));
    return told.map((role) => {
      const mean = data.mean[role][cell];
      return { role, title: data.titles[role], text: `${data.words[role][data.decision[role][cell]]}${mean === null ? "" : `, mean ${decimals(mean, 2)}`}` };
    });
  }

  const text = (layer, head) => lines(layer, head).map(({ title, text: words }) => `${title}: ${words}`).join("\n");

  /* Every head once, under its rarest role, the strongest first; heads without a role come last. */
  function groups() {
    const { layers, heads } = mapsNow();
    const found = new Map(rarest.filter((role) => counts[role]).map((role) => [role, []]));
    found.set(null, []);
    layers.forEach((_, layer) => heads.forEach((__, head) => found.get(of(layer, head)[0] ?? null).push([layer, head])));
    for (const [role, cells] of found) {
      if (role !== null) cells.sort((one, other) => data.mean[role][cellOf(...other)] - data.mean[role][cellOf(...one)]);
    }
    return [...found].filter(([, cells]) => cells.length).map(([role, cells]) => ({ role, cells, title: role === null ? "no role" : data.titles[role] }));
  }

  /* The heads of a layer in the order that is chosen. */
  function ordered(layer) {
    const places = [...mapsNow().heads.keys()];
    if (chosen.order !== "role" || !known()) return places;
    const rank = (head) => { const [first] = of(layer, head); return first === undefined ? rarest.length : rarest.indexOf(first); };
    const mean = (head) => { const [first] = of(layer, head); return first === undefined ? 0 : data.mean[first][cellOf(layer, head)]; };
    return places.sort((one, other) => rank(one) - rank(other) || mean(other) - mean(one) || one - other);
  }

  /* One number per (query, key): 1 where the sieve counts it; null where no role is chosen. */
  let decoded = { role: null, own: null };
  async function load(role) {
    if (role === null || decoded.role === role) return;
    const bits = await attention.unpack(data.keys[role]);
    const size = content.maps[data.kind].queries.pieces.length * content.maps[data.kind].keys.pieces.length;
    decoded = { role, own: Uint8Array.from({ length: size }, (_, cell) => (bits[cell >> 3] >> (7 - (cell & 7))) & 1) };
  }

  const shown = () => known() && chosen.keys !== null && decoded.role === chosen.keys;
  const settings = () => (shown() ? { own: decoded.own, tone: `var(--tone-${data.key_tones[chosen.keys]})` } : { own: null });

  /* Whether some keys of the role are special tokens, which have to be shown for it. */
  const special = () => shown() && decoded.own.some((own, cell) => own && mapsNow().keys.special[cell % mapsNow().keys.pieces.length]);

  function key() {
    const host = by("view-keys-key");
    host.hidden = !shown();
    if (host.hidden) return;
    const count = decoded.own.reduce((sum, own) => sum + own, 0);
    const words = count ? "keys of this role; other keys are grey" : "this input has no keys of this role, so all are grey";
    host.replaceChildren(chip(chosen.keys, data.key_tones[chosen.keys]), ` ${data.titles[chosen.keys]}: ${words}`);
  }

  function choices() {
    const select = by("view-keys");
    if (!select) return;
    select.replaceChildren(new Option("no role", ""), ...all.map((role) => {
      const option = new Option(`${data.marks[role]} · ${data.titles[role]}`, String(role));
      option.disabled = data.keys[role] === null;
      return option;
    }));
  }

  return { coloured: shown, known, of, chip, choices, titles, lines, text, groups, ordered, load, settings, special, key, hasKeys: (role) => data !== null && role !== null && data.keys[role] !== null };
})();
