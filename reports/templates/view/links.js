/* Lines of the neuron view: from the token that attends to every key, and between the dimensions of q and k. */
const links = (() => {
  const SPACE = "http://www.w3.org/2000/svg";
  const draw = (name, attributes) => {
    const element = document.createElementNS(SPACE, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
    return element;
  };

  /* A line to every row as strong as its weight; it begins at the row of the token itself, where it has one. */
  function tokens(rows, weights, start, name) {
    const picture = by("neuron-lines");
    const field = picture.parentElement;
    const top = field.getBoundingClientRect().top;
    const heights = rows.map((row) => { const box = row.getBoundingClientRect(); return box.top - top + box.height / 2; });
    const [wide, tall] = [picture.clientWidth, by("neuron-table").offsetHeight];
    picture.setAttribute("viewBox", `0 0 ${wide || 1} ${tall || 1}`);
    picture.style.height = `${tall}px`;
    const from = start === null ? heights[Math.floor(heights.length / 2)] : heights[start];
    const label = by("neuron-from");
    label.replaceChildren("q of ", attention.isolate(name));
    label.style.top = `${from}px`;
    picture.replaceChildren(...heights.flatMap((to, place) => (weights[place] > 0 ? [draw("path", {
      d: `M0 ${from}C${wide * 0.5} ${from} ${wide * 0.5} ${to} ${wide} ${to}`,
      "stroke-opacity": weights[place].toFixed(3), "stroke-width": (1 + 3 * weights[place]).toFixed(2),
    })] : [])));
  }

  /* q above, k below, and between them a line for each dimension, as strong as its product; some are marked. */
  function dimensions({ q, k, product }, mostOfVectors, mostOfProducts, found = []) {
    const picture = by("neuron-dims");
    picture.setAttribute("viewBox", `0 0 ${q.length} 40`);
    const bars = (values, most, y, tall, thin) => Array.from(values, (value, place) => draw("rect", {
      x: place + (thin ? 0.35 : 0.04), y, width: thin ? 0.3 : 0.92, height: tall,
      class: value < 0 ? "view-minus" : "view-plus", "fill-opacity": most > 0 ? Math.min(Math.abs(value) / most, 1).toFixed(3) : 0,
    }));
    const marks = found.map((place) => draw("rect", { x: place, y: 0, width: 1, height: 40, class: "view-found" }));
    picture.replaceChildren(...marks, ...bars(q, mostOfVectors, 0, 10), ...bars(product, mostOfProducts, 11, 18, true), ...bars(k, mostOfVectors, 30, 10));
  }

  return { tokens, dimensions };
})();
