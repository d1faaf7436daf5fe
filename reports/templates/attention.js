/* Attention between tokens: units, weights between them, the strongest ones, and their drawing into an element, as lines or
   as a heat map. */
const attention = (() => {
  const LONGEST = 40;
  const TOLD = 3;
  const MANY = 4000;
  const MOST_LINES = 8000;
  const DEFAULTS = { form: "lines", level: "pieces", specials: true, sink: true, from: "all", to: "all", only: null, tone: "var(--tone-0)", idle: true };

  const unpackJson = async (text) => JSON.parse(new TextDecoder().decode(await unpack(text)));

  /* One number a cell, 1 or 0: eight of them are packed into a byte, the first in the highest bit. */
  async function unpackBits(text, length) {
    const bits = await unpack(text);
    return Uint8Array.from({ length }, (_, cell) => (bits[cell >> 3] >> (7 - (cell & 7))) & 1);
  }

  function shorten(text) {
    const letters = Array.from(text.slice(0, 2 * LONGEST + 2));
    return letters.length > LONGEST ? `${letters.slice(0, LONGEST).join("")}…` : text || "·";
  }

  const isolate = (text) => html("bdi", { class: "map-text" }, shorten(text));

  /* A button of a token; the whole token is its hint where it is cut. */
  const token = (text, isFirst) => (
    html("button", { class: "map-token", type: "button", tabindex: isFirst ? 0 : -1, title: shorten(text) === text ? undefined : text }, isolate(text))
  );

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

  /* The units on both sides, the weights between them, and, where settings say which cells of tokens a sieve counts, the
     cells of units that it counts. */
  function matrix({ queries, keys, weights }, settings = {}) {
    const all = { ...DEFAULTS, ...settings };
    const [rows, columns] = sidesOf({ queries, keys }, all);
    const width = keys.pieces.length;
    return { rows, columns, values: valuesOf(weights, rows, columns, width), counted: all.own && countedOf(all.own, rows, columns, width) };
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

  /* Pixels: of a line of tokens, of a cell, of a canvas at most; across and down a sheet of paper. */
  const [ROW, CELL, MOST_PIXELS] = [22, 20, 16000];
  const SHEET = [680, 860];
  /* The colour of keys that a sieve does not count. */
  const OTHER = "var(--soft)";
  /* How strong their lines are beside those of counted keys. */
  const BEHIND = 0.5;
  const NAMES = ["attending", "attended to"];
  const LAID = ["form", "level", "specials", "sink", "from", "to", "only"];

  class Drawing {
    constructor(host, data, settings) {
      this.data = data;
      this.settings = { ...DEFAULTS };
      this.hand = null;
      this.root = html("div", { class: "map" });
      this.told = html("p", { class: "map-told", role: "status" });
      host.append(this.root);
      this.later = () => { if (!this.root.matches(".map-whole")) this.frame ??= requestAnimationFrame(() => this.paint()); };
      this.printed = (event) => this.paint(event.type === "beforeprint");
      this.observer = new ResizeObserver(this.later);
      this.theme = matchMedia("(prefers-color-scheme: dark)");
      this.theme.addEventListener("change", this.later);
      for (const name of ["beforeprint", "afterprint"]) addEventListener(name, this.printed);
      this.set(settings);
    }

    set(settings) {
      const before = this.box && LAID.map((name) => this.settings[name]);
      Object.assign(this.settings, settings);
      const { queries, keys, weights, label } = this.data;
      this.maps = this.settings.maps ?? [{ weights, label, tone: this.settings.tone }];
      [this.rows, this.columns] = sidesOf(this.data, this.settings);
      this.values = this.maps.map((map) => valuesOf(map.weights, this.rows, this.columns, keys.pieces.length));
      this.own = this.settings.own && countedOf(this.settings.own, this.rows, this.columns, keys.pieces.length);
      this.faintest = faintestOf(this.values);
      this.lines = this.values.map((values) => linesOf(values, this.faintest));
      if (!before || LAID.some((name, place) => this.settings[name] !== before[place])) this.lay();
      this.root.style.setProperty("--map-tone", this.maps.length === 1 ? this.maps[0].tone : "var(--ink)");
      const named = [this.settings.label, ...this.maps.map((map) => map.label)].filter(Boolean).join(", ");
      this.canvas.setAttribute("aria-label", `${named}, ${this.heat ? "a heat map" : "lines"} from ${this.rows.length} to ${this.columns.length} tokens`);
      this.take(this.hand);
    }

    lay() {
      this.heat = this.settings.form === "heat";
      this.hand = null;
      this.pinned = false;
      const [values] = this.values;
      this.first = this.own ? this.own.reduce((best, counted, place) => (counted && !(best >= 0 && values[best] >= values[place]) ? place : best), -1) : -1;
      this.root.dataset.form = this.settings.form;
      this.canvas = html("canvas", { class: "map-canvas", role: "img" });
      const tall = this.heat ? this.rows.length * CELL : Math.max(this.rows.length, this.columns.length) * ROW;
      this.field = html("div", { class: "map-field" }, this.canvas);
      this.field.style.height = `${tall}px`;
      this.field.style.width = this.heat ? `${this.columns.length * CELL}px` : "";
      this.sides = [this.side(0, this.rows), this.side(1, this.columns)];
      const headings = NAMES.map((name, side) => html("div", { class: `map-heading map-heading-${side}` }, name));
      this.box = html("div", { class: "map-box" }, headings, this.sides[0], this.field, this.sides[1]);
      this.root.replaceChildren(this.box, this.told);
      this.box.addEventListener("scroll", this.later, { passive: true });
      this.canvas.addEventListener("pointermove", (event) => this.point(event));
      this.canvas.addEventListener("pointerleave", () => this.release());
      this.observer.disconnect();
      this.observer.observe(this.box);
    }

    /* Scrolls to the counted cell with the most attention. */
    scrollToFirst() {
      const many = this.columns.length;
      const [row, column] = [Math.floor(this.first / many), this.first % many];
      const unit = this.heat ? CELL : ROW;
      this.box.scrollTop = ((this.heat ? row : (row + column) / 2) + 0.5) * unit - this.box.clientHeight / 2;
      if (this.heat) this.box.scrollLeft = (column + 0.5) * unit - this.box.clientWidth / 2;
      this.first = -1;
    }

    side(side, units) {
      const along = this.heat && side === 1 ? "horizontal" : "vertical";
      const tokens = units.map((unit, place) => token(unit.text, place === 0));
      for (const each of tokens) each.setAttribute("aria-pressed", "false");
      const bar = html("div", { class: `map-side map-side-${side}`, role: "toolbar", "aria-label": `Tokens ${NAMES[side]}`, "aria-orientation": along }, tokens);
      const placeOf = (event) => [...bar.children].indexOf(event.target.closest(".map-token"));
      const takeFrom = (event) => { if (!this.pinned && placeOf(event) >= 0) this.take({ side, place: placeOf(event) }); };
      bar.addEventListener("pointerover", takeFrom);
      bar.addEventListener("focusin", (event) => { this.rove(side, placeOf(event)); takeFrom(event); });
      bar.addEventListener("pointerleave", () => this.release());
      bar.addEventListener("focusout", () => this.release());
      bar.addEventListener("click", (event) => this.pin(side, placeOf(event)));
      bar.addEventListener("dblclick", (event) => this.isolate(side, placeOf(event)));
      bar.addEventListener("keydown", (event) => this.step(event, side, placeOf(event)));
      return bar;
    }

    rove(side, place) {
      [...this.sides[side].children].forEach((token, other) => { token.tabIndex = other === place ? 0 : -1; });
    }

    /* Ask for a token alone, where the page can show that: by a double click, or Shift and Enter. */
    isolate(side, place) {
      const unit = (side ? this.columns : this.rows)[place];
      if (unit) this.settings.isolate?.(side, unit);
    }

    focus(side, place) {
      this.sides[side].children[place]?.focus();
    }

    step(event, side, place) {
      if (event.key === "Enter" && event.shiftKey && this.settings.isolate) {
        event.preventDefault();
        return this.isolate(side, place);
      }
      const along = { ArrowUp: -1, ArrowDown: 1, ArrowLeft: -1, ArrowRight: 1 }[event.key];
      const across = this.heat ? null : { ArrowLeft: 0, ArrowRight: 1 }[event.key];
      const to = across ?? side;
      const last = this.sides[to].children.length - 1;
      if (event.key === "Escape" && this.pinned) {
        this.pinned = false;
        event.preventDefault();
        return this.release();
      }
      if (!along && event.key !== "Home" && event.key !== "End") return;
      const next = across != null ? place : along ? place + along : event.key === "Home" ? 0 : last;
      this.sides[to].children[Math.min(Math.max(next, 0), last)]?.focus();
      event.preventDefault();
    }

    pin(side, place) {
      if (place < 0) return;
      const again = this.pinned && this.hand?.side === side && this.hand.place === place;
      this.pinned = !again;
      this.take({ side, place });
    }

    release() {
      if (this.pinned) return;
      const place = this.sides.map((bar) => [...bar.children].indexOf(document.activeElement));
      const side = place.findIndex((each) => each >= 0);
      this.take(side < 0 ? null : { side, place: place[side] });
    }

    point(event) {
      if (this.pinned || !this.heat) return;
      const box = this.field.getBoundingClientRect();
      const place = Math.min(Math.floor((event.clientY - box.top) / CELL), this.rows.length - 1);
      this.take({ side: 0, place, other: Math.min(Math.floor((event.clientX - box.left) / CELL), this.columns.length - 1) });
    }

    take(hand) {
      this.hand = hand;
      for (const [side, bar] of this.sides.entries()) {
        for (const [place, token] of [...bar.children].entries()) {
          const held = hand !== null && (hand.side === side ? hand.place === place : hand.other === place);
          token.classList.toggle("map-held", held);
          token.setAttribute("aria-pressed", String(held && this.pinned && hand.side === side));
          const share = hand && hand.side !== side ? this.mean(hand, place) : 0;
          token.classList.toggle("map-shared", share > 0);
          if (share > 0) token.style.setProperty("--map-share", share.toFixed(3));
          this.strip(token, hand, side, place);
        }
      }
      this.told.replaceChildren(...describe(this, hand));
      this.later();
    }

    /* The weight of every head beside a token on the other side, as a strip of their colours. */
    strip(token, hand, side, place) {
      const striped = hand !== null && hand.side !== side && this.maps.length > 1 && !this.heat;
      token.classList.toggle("map-striped", striped);
      if (!striped) return;
      const step = 100 / this.maps.length;
      const cells = this.maps.map(({ tone }, head) => {
        const share = Math.round(100 * Math.min(this.values[head][this.cell(hand, place)], 1));
        return `color-mix(in srgb, ${tone} ${share}%, transparent) ${(step * head).toFixed(2)}% ${(step * (head + 1)).toFixed(2)}%`;
      });
      token.style.setProperty("--map-strip", `linear-gradient(to right, ${cells.join(", ")})`);
      token.style.setProperty("--map-heads", String(this.maps.length));
    }

    cell(hand, other) {
      return hand.side === 0 ? hand.place * this.columns.length + other : other * this.columns.length + hand.place;
    }

    mean(hand, other) {
      return this.values.reduce((sum, values) => sum + values[this.cell(hand, other)], 0) / this.values.length;
    }

    paint(whole = false) {
      cancelAnimationFrame(this.frame);
      this.frame = undefined;
      this.root.classList.toggle("map-whole", whole);
      this.box.style.zoom = "";
      if (!this.box.clientWidth) return;
      if (this.first >= 0) this.scrollToFirst();
      const fixed = this.heat ? [this.sides[0].offsetWidth, this.sides[1].offsetHeight] : [0, this.box.firstChild.offsetHeight];
      [this.canvas.style.left, this.canvas.style.top] = fixed.map((each) => `${each}px`);
      const seen = [this.box.clientWidth - fixed[0], this.box.clientHeight - fixed[1]];
      const size = [this.field.clientWidth, this.field.clientHeight].map((full, axis) => Math.max(1, whole ? full : Math.min(full, seen[axis])));
      const scale = Math.min(devicePixelRatio || 1, MOST_PIXELS / Math.max(...size));
      [this.canvas.width, this.canvas.height] = size.map((each) => Math.round(each * scale));
      [this.canvas.style.width, this.canvas.style.height] = size.map((each) => `${each}px`);
      const [field, canvas] = [this.field.getBoundingClientRect(), this.canvas.getBoundingClientRect()];
      const context = this.canvas.getContext("2d");
      context.setTransform(scale, 0, 0, scale, 0, 0);
      const view = { left: canvas.left - field.left, top: canvas.top - field.top, width: size[0], height: size[1] };
      if (this.heat) this.paintCells(context, view);
      else this.values.forEach((_, place) => this.paintMap(context, view, place));
      if (whole) this.box.style.zoom = Math.min(1, SHEET[0] / (this.heat ? this.box.scrollWidth : 1), SHEET[1] / this.box.scrollHeight);
    }

    colour(tone) {
      this.canvas.style.color = tone;
      return getComputedStyle(this.canvas).color;
    }

    /* Lines of one map: where a sieve counts cells, these have the colour, and lie over the others. */
    paintMap(context, view, map) {
      const places = this.hand ? this.ofHand(this.hand) : this.lines[map];
      const { tone } = this.maps[map];
      if (!this.own) return this.paintLines(context, view, map, places, tone);
      this.paintLines(context, view, map, places.filter((place) => !this.own[place]), OTHER);
      this.paintLines(context, view, map, places.filter((place) => this.own[place]), tone);
    }

    paintLines(context, { top, width, height }, map, places, tone) {
      const { hand } = this;
      const many = this.columns.length;
      context.strokeStyle = this.colour(tone);
      for (const place of places) {
        const value = this.values[map][place];
        const from = (Math.floor(place / many) + 0.5) * ROW - top;
        const to = ((place % many) + 0.5) * ROW - top;
        if (value <= 0 || (from < 0 && to < 0) || (from > height && to > height)) continue;
        context.globalAlpha = Math.min(hand ? Math.max(value, 0.1 / this.maps.length) : value, 1) * (tone === OTHER ? BEHIND : 1);
        context.lineWidth = (this.own && tone !== OTHER ? 1.6 : 1) + 2 * value;
        context.beginPath();
        context.moveTo(0, from);
        context.bezierCurveTo(width * 0.45, from, width * 0.55, to, width, to);
        context.stroke();
      }
    }

    ofHand({ side, place }) {
      const many = this.columns.length;
      if (side === 0) return this.columns.map((_, other) => place * many + other);
      return this.rows.map((_, other) => other * many + place);
    }

    paintCells(context, { left, top, width, height }) {
      const many = this.columns.length;
      const [ground, tone, other] = ["var(--panel)", "var(--map-tone)", OTHER].map((each) => this.colour(each).match(/[\d.]+/gu).map(Number));
      const first = [top, left].map((start) => Math.max(Math.floor(start / CELL), 0));
      const last = [Math.min(this.rows.length, Math.ceil((top + height) / CELL)), Math.min(many, Math.ceil((left + width) / CELL))];
      for (let row = first[0]; row < last[0]; row += 1) {
        for (let column = first[1]; column < last[1]; column += 1) {
          const sum = this.values.reduce((total, values) => total + values[row * many + column], 0);
          const full = this.own && !this.own[row * many + column] ? other : tone;
          context.fillStyle = `rgb(${mix(ground, full, sum / this.values.length).join(" ")})`;
          if (sum > 0) context.fillRect(column * CELL - left, row * CELL - top, CELL - 1, CELL - 1);
        }
      }
      this.frameHand(context, left, top);
    }

    frameHand(context, left, top) {
      if (!this.hand) return;
      const { side, place, other } = this.hand;
      context.globalAlpha = 1;
      context.strokeStyle = this.colour("var(--ink)");
      const [wide, tall] = [this.columns.length * CELL, this.rows.length * CELL];
      if (side === 0) context.strokeRect(-left, place * CELL - top - 0.5, wide, CELL);
      else context.strokeRect(place * CELL - left - 0.5, -top, CELL, tall);
      if (other !== undefined) context.strokeRect(other * CELL - left - 0.5, -top, CELL, tall);
    }

    remove() {
      cancelAnimationFrame(this.frame);
      this.observer.disconnect();
      this.theme.removeEventListener("change", this.later);
      for (const name of ["beforeprint", "afterprint"]) removeEventListener(name, this.printed);
      this.root.remove();
    }
  }

  const draw = (host, data, settings) => new Drawing(host, data, settings);
  return { BEHIND, OTHER, draw, isolate, matrix, mix, shorten, strongest, token, unpack, unpackBits, unpackJson };
})();
