/* The parts of the weights of one layer and head: decoded, multiplied step by step, and described in words. */
const products = (() => {
  const most = (values) => values.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);

  /* Queries, keys, bias and mask of a layer and head. */
  async function load(kind, layer, head) {
    const maps = content.maps[kind];
    const { neurons } = maps;
    const [tall, wide, size] = [maps.queries.pieces.length, maps.keys.pieces.length, neurons.size];
    const once = (what) => bytesOf(`${kind} ${what} ${neurons[what].of[layer]}`, neurons[what].held[neurons[what].of[layer]]);
    const slice = (bytes, place, count) => halvesOf(bytes.subarray(2 * place * count, 2 * (place + 1) * count));
    const [queries, keys, weights, visible, bias] = await Promise.all([
      bytesOf(`${kind} query ${layer}`, neurons.query[layer]),
      bytesOf(`${kind} key ${layer}`, neurons.key[layer]),
      layerOf(layer, kind),
      once("visible"),
      neurons.bias && once("bias"),
    ]);
    const loaded = {
      maps, layer, head, wide, size, visible,
      queries: slice(queries, head, tall * size),
      keys: slice(keys, neurons.place[head], wide * size),
      weights: headOf(weights, head, maps),
      bias: bias && slice(bias, head, tall * wide),
      scaling: neurons.scaling[layer],
      softcap: neurons.softcap[layer],
    };
    return { ...loaded, most: Math.max(most(loaded.queries), most(loaded.keys)) };
  }

  const vector = (values, place, size) => values.subarray(place * size, (place + 1) * size);

  /* One token's attention to one key: q, k, q × k, and the number whose softmax is the weight. */
  function steps(loaded, query, key) {
    const { size, wide, scaling, softcap, bias, visible, weights } = loaded;
    const cell = query * wide + key;
    const q = vector(loaded.queries, query, size);
    const k = vector(loaded.keys, key, size);
    const product = q.map((value, place) => value * k[place]);
    const sums = [scaling * product.reduce((sum, value) => sum + value, 0)];
    if (softcap !== null) sums.push(softcap * Math.tanh(sums[0] / softcap));
    if (bias) sums.push(sums.at(-1) + bias[cell]);
    const seen = Boolean(visible[cell >> 3] & (128 >> (cell & 7)));
    return { q, k, product, sums, seen, weight: weights[cell] / 255, most: most(product) };
  }

  function columns({ scaling, softcap, bias }) {
    const scaled = `q·k × ${Number(scaling.toPrecision(4))}`;
    return [scaled, ...(softcap === null ? [] : [`capped at ±${softcap}`]), ...(bias ? ["with position bias"] : [])];
  }

  /* 0, 1, 2, 5 as "0–2, 5". */
  function spans(numbers) {
    const runs = [];
    for (const number of numbers) {
      if (runs.at(-1)?.[1] === number - 1) runs.at(-1)[1] = number;
      else runs.push([number, number]);
    }
    return runs.map(([first, last]) => (first === last ? first : `${first}–${last}`)).join(", ");
  }

  function sharedKeys({ group }, heads, head) {
    if (group.every((each, place) => each === heads[place])) return "";
    const sharing = heads.filter((_, place) => group[place] === group[head]);
    return sharing.length > 1 ? `Query heads ${spans(sharing)} share key head ${group[head]}.` : `Query head ${sharing[0]} uses key head ${group[head]}.`;
  }

  function notes({ maps, layer, head }) {
    const sink = maps.neurons.sink[layer][head];
    return [
      sharedKeys(maps.neurons, maps.heads, head),
      "Products are computed from 16-bit copies of queries and keys, after rotary positions and norms; the weight is the one the model computed, in steps of 1/255: the softmax, over the visible keys, of the number before it.",
      sink === null ? "" : `A sink with the logit ${decimals(sink)} takes part in the softmax and is then dropped, so that weights sum to less than 1.`,
    ].filter(Boolean).join(" ");
  }

  return { load, steps, vector, columns, notes, spans };
})();
