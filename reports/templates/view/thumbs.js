/* Small pictures of one head's attention: cells or lines, drawn into a canvas as pixels. */
const thumbs = (() => {
  const SIDE = 72;
  const FINEST = 96;
  /* Keys that the chosen role does not count are grey, and fainter than its own. */
  const REST = "var(--soft)";
  const BEHIND = 0.5;

  /* The weights of a head, and which of them a role counts. */
  function weightsOf(bytes, head) {
    const maps = mapsNow();
    const settings = settingsNow();
    const found = attention.matrix({ queries: maps.queries, keys: maps.keys, weights: headOf(bytes, head, maps) }, settings);
    const counted = settings.own ? attention.countedOf(settings.own, found.rows, found.columns, maps.keys.pieces.length) : null;
    return { ...found, counted, tone: settings.own ? settings.tone : toneOf(maps.heads[head]) };
  }

  /* A pixel per cell; of long inputs, a pixel shows the strongest of several cells. */
  function cells(canvas, { rows, columns, values, counted, tone }) {
    const [tall, wide] = [rows, columns].map((units) => Math.max(1, Math.min(units.length, FINEST)));
    const strongest = new Float32Array(wide * tall);
    const own = new Uint8Array(wide * tall).fill(counted ? 0 : 1);
    const across = columns.map((_, column) => Math.floor(column * wide / columns.length));
    for (let place = 0; place < values.length; place += 1) {
      const row = Math.floor(place / columns.length);
      const pixel = wide * Math.floor(row * tall / rows.length) + across[place - row * columns.length];
      if (values[place] > strongest[pixel]) {
        strongest[pixel] = values[place];
        if (counted) own[pixel] = counted[place];
      }
    }
    const picture = new ImageData(wide, tall);
    const [ground, full, rest] = ["var(--panel)", tone, REST].map((each) => resolveColour(each, canvas.parentElement));
    strongest.forEach((value, pixel) => picture.data.set([...attention.mix(ground, own[pixel] ? full : rest, value), 255], 4 * pixel));
    [canvas.width, canvas.height] = [wide, tall];
    canvas.getContext("2d").putImageData(picture, 0, 0);
  }

  /* Drawn off screen and copied as pixels: strokes drawn directly can cover the rest of a printed sheet. */
  function lines(canvas, { rows, columns, values, counted, tone }, side = SIDE) {
    const scale = (canvas.clientWidth || side) / side * (devicePixelRatio || 1);
    const size = Math.round(side * scale);
    const context = new OffscreenCanvas(size, size).getContext("2d", { willReadFrequently: true });
    context.scale(scale, scale);
    const colours = [tone, REST].map((each) => `rgb(${resolveColour(each, canvas.parentElement).join(" ")})`);
    const step = (side - 6) / Math.max(rows.length, columns.length);
    const least = values.length > 4000 ? 0.1 : 0.02;
    /* The keys of a role lie over the rest. */
    for (const own of counted ? [0, 1] : [1]) {
      context.strokeStyle = colours[own ? 0 : 1];
      values.forEach((value, place) => {
        if (value < least || (counted && counted[place] !== own)) return;
        context.globalAlpha = Math.min(value, 1) * (own ? 1 : BEHIND);
        context.lineWidth = counted && own ? 1.6 : 1;
        context.beginPath();
        context.moveTo(3, 3 + (Math.floor(place / columns.length) + 0.5) * step);
        context.lineTo(side - 3, 3 + ((place % columns.length) + 0.5) * step);
        context.stroke();
      });
    }
    [canvas.width, canvas.height] = [size, size];
    canvas.getContext("2d").putImageData(context.getImageData(0, 0, size, size), 0, 0);
  }

  function paint(canvas, bytes, head, side) {
    canvas.dataset.form = chosen.form;
    const weights = weightsOf(bytes, head);
    if (chosen.form === "heat") cells(canvas, weights);
    else lines(canvas, weights, side);
    return weights;
  }

  return { SIDE, paint };
})();
