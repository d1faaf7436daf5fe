/* Dimensions that carry a role of the head in the neuron view, as a run of `headroles why` found them. Without one, none. */
const carriers = (() => {
  const data = content.origins;
  const noun = data?.paired ? "frequency pair" : "dimension";
  let here = [];
  let current = null;

  const known = () => data !== null && chosen.kind === data.kind;
  const foundIn = (group) => current.found.includes(group);
  /* Dimensions that were found: of a frequency pair both. */
  const marks = () => (current ? data.group.flatMap((group, place) => (foundIn(group) ? [place] : [])) : []);
  const chance = (p) => (p < 0.001 ? "< 0.001" : decimals(p));
  const percent = (share) => `${decimals(100 * share, 1)} %`;

  /* What the run says of a dimension, after the numbers of the token. */
  function word(dimension) {
    if (!current) return "";
    const group = data.group[dimension];
    const [share, q] = [current.share[group], current.q[group]];
    if (share === null) return `; ${current.title}: not tested`;
    const name = data.paired ? `, frequency pair ${group}` : "";
    return `; ${percent(share)} of ${current.title}${name}${q === null ? "" : `, adjusted p ${chance(q)}`}${foundIn(group) ? ", found" : ""}`;
  }

  /* Marked columns lie behind every strip. */
  function ground(size) {
    const parts = marks().flatMap((place) => {
      const [from, to] = [place, place + 1].map((edge) => `${(100 * edge) / size}%`);
      return [`transparent ${from}`, `var(--found) ${from}`, `var(--found) ${to}`, `transparent ${to}`];
    });
    by("panel-neuron").style.setProperty("--found-columns", parts.length ? `linear-gradient(90deg, ${parts.join(", ")})` : "none");
  }

  /* The part of every dimension in the role that is chosen; `again` draws what depends on it. */
  function paint() {
    if (!data) return;
    const size = data.group.length;
    ground(size);
    by("neuron-carriers").hidden = !current;
    if (!current) return;
    const shares = data.group.map((group) => current.share[group] ?? 0);
    const most = Math.max(...shares.map(Math.abs));
    strips.paint(by("neuron-share"), Float32Array.from(shares), most, strips.tones());
    by("neuron-share").setAttribute("aria-label", `Part of every dimension in ${current.title}; ${current.found.length} found`);
    by("neuron-found").textContent = current.found.length
      ? `found: ${noun}${current.found.length > 1 ? "s" : ""} ${products.spans(current.found)}, more than twice the fair share`
      : `no ${noun} has more than twice the fair share`;
    by("neuron-carriers-said").textContent = current.text;
  }

  /* Take up another head. */
  function turn(layer, head) {
    if (!data) return;
    const title = current?.title;
    here = known() ? data.carriers.filter((one) => one.layer === layer && one.head === head) : [];
    current = here.find((one) => one.title === title) ?? here[0] ?? null;
    const select = by("neuron-role");
    select.replaceChildren(...here.map((one, place) => new Option(one.title, String(place), false, one === current)));
    select.disabled = here.length < 2;
  }

  function onChange(again) {
    if (!data) return;
    by("neuron-role").addEventListener("input", (event) => {
      current = here[Number(event.target.value)];
      again();
    });
    by("neuron-share").addEventListener("pointermove", (event) => {
      const dimension = strips.under(event);
      by("neuron-told").textContent = `dimension ${dimension}${word(dimension)}`;
    });
  }

  /* Further columns of the table of numbers. */
  const columns = () => (current ? [`part ${data.paired ? "of its pair " : ""}in ${current.title}`, "adjusted p"] : []);
  const cells = (dimension) => {
    if (!current) return [];
    const group = data.group[dimension];
    const [share, q] = [current.share[group], current.q[group]];
    return [share === null ? "–" : `${percent(share)}${foundIn(group) ? " ●" : ""}`, q === null ? "–" : chance(q)];
  };

  return { paint, turn, marks, word, onChange, columns, cells };
})();
