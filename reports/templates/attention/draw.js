/* Draws attention between tokens into an element, as lines or as a heat map. A canvas is as large as its visible part. */
attention.draw = (() => {
  "use strict";
  const { DEFAULTS, countedOf, shorten, faintestOf, isolate, linesOf, create, mix, describe, sidesOf, valuesOf } = attention;
  /* Pixels: of a line of tokens, of a cell, of a canvas at most; across and down a sheet of paper. */
  const [ROW, CELL, MOST_PIXELS] = [22, 20, 16000];
  const SHEET = [680, 860];
  /* The colour of keys that a sieve does not count. */
  const OTHER = "var(--soft)";
  /* How strong their lines are beside those of counted keys. */
  const BEHIND = 0.5;
  const LAID = ["form", "level", "specials", "sink", "from", "to", "only"];

  class Drawing {
    constructor(host, data, settings) {
      this.data = data;
      this.settings = { ...DEFAULTS };
      this.hand = null;
      this.root = create("div", "map");
      this.told = create("p", "map-told");
      this.told.setAttribute("role", "status");
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
      this.first = this.settings.own ? this.strongestOwn() : -1;
      this.root.dataset.form = this.settings.form;
      this.box = create("div", "map-box");
      this.canvas = create("canvas", "map-canvas");
      this.canvas.setAttribute("role", "img");
      this.field = create("div", "map-field");
      this.field.append(this.canvas);
      this.sides = [this.side(0, "attending", this.rows), this.side(1, "attended to", this.columns)];
      const tall = this.heat ? this.rows.length * CELL : Math.max(this.rows.length, this.columns.length) * ROW;
      this.field.style.height = `${tall}px`;
      this.field.style.width = this.heat ? `${this.columns.length * CELL}px` : "";
      const headings = ["attending", "attended to"].map((word, side) => create("div", `map-heading map-heading-${side}`, word));
      this.box.append(...headings, this.sides[0], this.field, this.sides[1]);
      this.root.replaceChildren(this.box, this.told);
      this.box.addEventListener("scroll", this.later, { passive: true });
      this.canvas.addEventListener("pointermove", (event) => this.point(event));
      this.canvas.addEventListener("pointerleave", () => this.release());
      this.observer.disconnect();
      this.observer.observe(this.box);
    }

    /* The counted cell with the most attention, which is scrolled into view. */
    strongestOwn() {
      const [values] = this.values;
      return this.own.reduce((best, counted, place) => (counted && !(best >= 0 && values[best] >= values[place]) ? place : best), -1);
    }

    scrollToFirst() {
      const many = this.columns.length;
      const [row, column] = [Math.floor(this.first / many), this.first % many];
      const unit = this.heat ? CELL : ROW;
      this.box.scrollTop = ((this.heat ? row : (row + column) / 2) + 0.5) * unit - this.box.clientHeight / 2;
      if (this.heat) this.box.scrollLeft = (column + 0.5) * unit - this.box.clientWidth / 2;
      this.first = -1;
    }

    side(side, name, units) {
      const bar = create("div", `map-side map-side-${side}`);
      bar.setAttribute("role", "toolbar");
      bar.setAttribute("aria-label", `Tokens ${name}`);
      bar.setAttribute("aria-orientation", this.heat && side === 1 ? "horizontal" : "vertical");
      bar.append(...units.map((unit, place) => this.token(unit, place)));
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

    token(unit, place) {
      const button = create("button", "map-token");
      button.type = "button";
      button.tabIndex = place === 0 ? 0 : -1;
      button.setAttribute("aria-pressed", "false");
      button.append(isolate(unit.text));
      if (shorten(unit.text) !== unit.text) button.title = unit.text;
      return button;
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

  return (host, data, settings) => {
    const drawing = new Drawing(host, data, settings);
    return { set: (changed) => drawing.set(changed), focus: (side, place) => drawing.focus(side, place), remove: () => drawing.remove() };
  };
})();
