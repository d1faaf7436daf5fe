/* Attention between tokens: units, weights between them, the strongest ones. The only global of attention.js and of
   draw.js, which follows it and adds attention.draw; they need nothing else of a page. */
const attention = (() => {
  "use strict";
  const LONGEST = 40;
  const TOLD = 3;
  const MANY = 4000;
  const MOST_LINES = 8000;
  const DEFAULTS = { form: "lines", level: "pieces", specials: true, sink: true, from: "all", to: "all", only: null, tone: "var(--tone-0)", idle: true };

  async function unpack(text) {
    const letters = atob(text);
    const bytes = new Uint8Array(letters.length);
    for (let place = 0; place < letters.length; place += 1) bytes[place] = letters.charCodeAt(place);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  }

  function create(tag, className, text) {
    const element = document.createElement(tag);
    element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
  }

  function shorten(text) {
    const letters = Array.from(text.slice(0, 2 * LONGEST + 2));
    return letters.length > LONGEST ? `${letters.slice(0, LONGEST).join("")}…` : text || "·";
  }

  function isolate(text) {
    return create("bdi", "map-text", shorten(text));
  }

  /* The text a token belongs to; a special token goes with the text before it, at the start with the first. */
  function textOfToken(tokens) {
    let last = Math.max(tokens.segment.find((text) => text >= 0) ?? 0, 0);
    return tokens.segment.map((text) => { last = text >= 0 ? text : last; return last; });
  }

  /* The unit behind one line or column of a picture: a token, or all tokens of a word. */
  function unitsOf(tokens, settings, text) {
    const texts = textOfToken(tokens);
    const words = settings.level === "words";
    const units = [];
    tokens.pieces.forEach((piece, place) => {
      if ((place === 0 && !settings.sink) || (tokens.special[place] && !settings.specials)) return;
      if (text !== "all" && texts[place] !== text) return;
      const last = units.at(-1);
      const word = tokens.word[place];
      const plain = words && !tokens.special[place] ? piece.replace(/^(##|▁)(?=.)/su, "") : piece;
      if (words && word >= 0 && last?.word === word && texts[place] === texts[last.places[0]]) {
        last.places.push(place);
        last.text += plain;
      } else units.push({ text: plain, places: [place], word });
    });
    return units;
  }

  /* Weights between units, 0 to 1: summed over pieces attended to, averaged over pieces that attend. */
  function valuesOf(weights, rows, columns, width) {
    const values = new Float32Array(rows.length * columns.length);
    const where = new Int32Array(width).fill(-1);
    columns.forEach((column, across) => { for (const key of column.places) where[key] = across; });
    rows.forEach((row, line) => {
      const start = line * columns.length;
      for (const query of row.places) {
        for (let key = 0; key < width; key += 1) {
          if (where[key] >= 0) values[start + where[key]] += weights[query * width + key];
        }
      }
      for (let across = 0; across < columns.length; across += 1) values[start + across] /= 255 * row.places.length;
    });
    return values;
  }

  /* Whether units hold a cell that a sieve counts; "own" has 1 for such cells of tokens. */
  function countedOf(own, rows, columns, width) {
    const counted = new Uint8Array(rows.length * columns.length);
    rows.forEach((row, line) => columns.forEach((column, across) => {
      counted[line * columns.length + across] = row.places.some((query) => column.places.some((key) => own[query * width + key]));
    }));
    return counted;
  }

  /* The units on both sides; a token that is isolated is alone on its side. */
  function sidesOf({ queries, keys }, settings) {
    const sides = [unitsOf(queries, settings, settings.from), unitsOf(keys, settings, settings.to)];
    if (!settings.only) return sides;
    const { side, place } = settings.only;
    const alone = sides[side].filter((unit) => unit.places.includes(place));
    return sides.map((units, other) => (other === side && alone.length ? alone : units));
  }

  function matrix({ queries, keys, weights }, settings = {}) {
    const all = { ...DEFAULTS, ...settings };
    const [rows, columns] = sidesOf({ queries, keys }, all);
    return { rows, columns, values: valuesOf(weights, rows, columns, keys.pieces.length) };
  }

  /* The strongest units on the other side of one unit, the strongest first. */
  function strongest({ rows, columns, values }, side, place, most = TOLD) {
    const others = side === 0 ? columns : rows;
    const value = (other) => (side === 0 ? values[place * columns.length + other] : values[other * columns.length + place]);
    const order = others.map((_, other) => other).filter((other) => value(other) > 0);
    order.sort((one, other) => value(other) - value(one) || one - other);
    return order.slice(0, most).map((other) => ({ place: other, text: others[other].text, value: value(other) }));
  }

  /* The least weight with a line of its own, so that there are not too many lines. */
  function faintestOf(maps) {
    const least = (maps[0]?.length ?? 0) > MANY ? 0.02 : 0.004;
    const counts = new Uint32Array(101);
    for (const values of maps) for (const value of values) if (value >= least) counts[Math.min(Math.floor(value * 100), 100)] += 1;
    let [from, lines] = [100, counts[100]];
    while (from > 0 && lines + counts[from - 1] <= MOST_LINES) lines += counts[from -= 1];
    return Math.max(least, from / 100);
  }

  function linesOf(values, least) {
    const places = [];
    for (let place = 0; place < values.length; place += 1) if (values[place] >= least) places.push(place);
    return places;
  }

  /* A colour between two, as whole red, green and blue: weights of 1/255 keep their hue. */
  const mix = (ground, tone, share) => [0, 1, 2].map((part) => Math.round(ground[part] + (tone[part] - ground[part]) * Math.min(share, 1)));

  /* A sentence about the unit in hand: the weight of a cell, or the strongest tokens on the other side. */
  function describe({ rows, columns, maps, values, heat, faintest, settings }, hand) {
    if (!hand && !settings.idle) return [];
    if (!hand && heat) return ["The stronger the colour of a cell, the stronger the attention."];
    if (!hand) return [`The stronger a line, the stronger the attention; lines begin at ${faintest}.`];
    const parts = [isolate((hand.side === 0 ? rows : columns)[hand.place].text)];
    if (hand.other !== undefined) {
      const sum = values.reduce((total, each) => total + each[hand.place * columns.length + hand.other], 0);
      return [...parts, " → ", isolate(columns[hand.other].text), `: ${(sum / values.length).toFixed(2)}`];
    }
    parts.push(hand.side === 0 ? " attends most to " : " gets most from ");
    maps.slice(0, TOLD).forEach((map, place) => {
      if (maps.length > 1) parts.push(`${place ? "; " : ""}${map.label}: `);
      const keys = strongest({ rows, columns, values: values[place] }, hand.side, hand.place);
      keys.forEach((each, rank) => parts.push(rank ? ", " : "", isolate(each.text), ` ${each.value.toFixed(2)}`));
      if (!keys.length) parts.push("nothing that is shown");
    });
    if (maps.length > TOLD) parts.push(`; ${maps.length - TOLD} more`);
    return parts;
  }

  return { DEFAULTS, countedOf, shorten, faintestOf, isolate, linesOf, create, matrix, mix, describe, sidesOf, strongest, unitsOf, unpack, valuesOf };
})();
