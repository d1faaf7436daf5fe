/* Figures are drawn when they come near the window, in the reader's theme, and again when it changes. */
const plots = [...document.querySelectorAll(".plot")];
const drawnPlots = new Set();
/* Pixels across a sheet of paper. */
const SHEET = 680;

function resolveColours(value, style) {
  if (Array.isArray(value)) return value.map((inner) => resolveColours(inner, style));
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, resolveColours(inner, style)]));
  }
  if (typeof value !== "string" || !value.startsWith("var(--")) return value;
  return style.getPropertyValue(value.slice(4, -1)).trim();
}

/* Marks bear the numbers of their heads; their findings are looked up in the table of all findings. */
const HOVER_COLUMNS = ["mean", ...ENDS];
const hoverP = (p) => (p < 1e-16 ? "< 1e-16" : String(Number(p.toPrecision(2))));
function addHeadNumbers(trace) {
  const packed = trace.customdata?.bdata;
  const cells = packed ? new Uint32Array(bytes(packed).buffer) : [];
  trace.customdata = Array.from(cells, (cell) => {
    const row = trace.meta.sieve * perSieve + cell;
    return [layerAt(cell), cell % findings.heads, ...HOVER_COLUMNS.map((name) => columns[name][row]), hoverP(columns.p[row])];
  });
}

/* This script of plotly has no heat maps: a square of numbers is painted as a picture, a pixel a cell. */
const PACKED = { f4: Float32Array, u1: Uint8Array };
function paintSquare(trace, layout) {
  const values = new PACKED[trace.z.dtype](bytes(trace.z.bdata).buffer);
  const [rows, cells] = trace.z.shape.split(",").map(Number);
  const [low, high] = trace.colorscale.map(([, colour]) => [1, 3, 5].map((place) => parseInt(colour.slice(place, place + 2), 16)));
  const canvas = create("canvas");
  [canvas.width, canvas.height] = [cells, rows];
  const context = canvas.getContext("2d");
  const picture = context.createImageData(cells, rows);
  values.forEach((value, cell) => {
    const part = Math.min(1, Math.max(0, (value - trace.zmin) / (trace.zmax - trace.zmin || 1)));
    low.forEach((start, channel) => { picture.data[4 * cell + channel] = start + part * (high[channel] - start); });
    picture.data[4 * cell + 3] = 255;
  });
  context.putImageData(picture, 0, 0);
  layout.images = [{
    source: canvas.toDataURL(), xref: "x", yref: "y", x: trace.x0 - trace.dx / 2, y: trace.y0 - trace.dy / 2,
    sizex: cells * trace.dx, sizey: rows * trace.dy, xanchor: "left", yanchor: "top", sizing: "stretch", layer: "above",
  }];
  const { zmin: cmin, zmax: cmax, colorscale, colorbar, name } = trace;
  const marker = { color: [cmin], cmin, cmax, colorscale, colorbar, showscale: true };
  return { type: "scatter", mode: "markers", x: [null], y: [null], name, marker, hoverinfo: "skip" };
}

/* Plotly wants names of colours for bars; a key of colours is drawn with a mark that is nowhere. */
function shadeCells(trace) {
  const { color, cmin, cmax, colorscale, colorbar, showscale, ...marker } = trace.marker;
  const channels = colorscale.map(([, colour]) => [1, 3, 5].map((place) => parseInt(colour.slice(place, place + 2), 16)));
  const mixed = (value) => {
    const part = Math.min(1, Math.max(0, (value - cmin) / (cmax - cmin || 1))) * (channels.length - 1);
    const first = Math.min(Math.floor(part), channels.length - 2);
    const mix = channels[first].map((start, channel) => Math.round(start + (part - first) * (channels[first + 1][channel] - start)));
    return `rgb(${mix.join()})`;
  };
  const cells = { ...trace, marker: { ...marker, color: Array.from(new PACKED.f4(bytes(color.bdata).buffer), mixed) } };
  if (!showscale) return [cells];
  const key = { color: [cmin], cmin, cmax, colorscale, colorbar, showscale };
  return [cells, { type: "scatter", mode: "markers", x: [null], y: [null], name: trace.name, meta: trace.meta, marker: key, hoverinfo: "skip" }];
}

/* Plotly stands in the page as text and becomes a script with the first figure, so that the page is ready before it. */
function loadPlotly() {
  const source = document.getElementById("plotly-source");
  if (!source) return;
  const script = create("script");
  script.textContent = source.textContent;
  source.replaceWith(script);
}

function draw(plot) {
  loadPlotly();
  const spec = resolveColours(read(`${plot.id}-spec`), getComputedStyle(document.documentElement));
  for (const trace of spec.data) if (trace.meta?.sieve !== undefined) addHeadNumbers(trace);
  spec.data = spec.data.flatMap((trace) => {
    if (trace.type === "heatmap") return [paintSquare(trace, spec.layout)];
    return trace.type === "bar" && trace.marker.colorscale ? shadeCells(trace) : [trace];
  });
  const hidden = hiddenRoles(plot);
  for (const trace of spec.data) trace.visible = !(trace.meta && hidden(trace.meta.role));
  const config = {
    displaylogo: false,
    responsive: true,
    modeBarButtons: [["toImage"]],
    toImageButtonOptions: { format: "svg", filename: plot.id },
  };
  const first = !drawnPlots.has(plot);
  drawnPlots.add(plot);
  return Plotly.react(plot, spec.data, spec.layout, config).then(() => {
    hideDrawing(plot);
    if (first) plot.on("plotly_afterplot", () => hideDrawing(plot));
  });
}

/* Words and a table describe the drawing, so screen readers skip the text fragments inside it. */
function hideDrawing(plot) {
  for (const drawing of plot.querySelectorAll(".main-svg, .hoverlayer")) drawing.setAttribute("aria-hidden", "true");
}

/* Whether a role is switched off by its button, or another is picked where there are too many for buttons. */
function hiddenRoles(plot) {
  const figure = plot.closest("figure");
  const picked = figure?.querySelector(".pick")?.value ?? "";
  if (picked !== "") return (role) => role !== Number(picked);
  const buttons = figure?.querySelectorAll('.legend [aria-pressed="false"]') ?? [];
  const off = new Set([...buttons].map((button) => Number(button.dataset.role)));
  return (role) => off.has(role);
}

for (const pick of document.querySelectorAll(".pick")) {
  pick.addEventListener("input", () => pick.closest("figure").querySelectorAll(".plot").forEach(draw));
}

for (const legend of document.querySelectorAll(".legend")) {
  legend.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    const one = "one" in legend.dataset;
    button.setAttribute("aria-pressed", String(one || button.getAttribute("aria-pressed") !== "true"));
    if (one) for (const other of legend.querySelectorAll("button")) if (other !== button) other.setAttribute("aria-pressed", "false");
    legend.closest("figure")?.querySelectorAll(".plot").forEach(draw);
  });
}

const near = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (entry.isIntersecting) {
      near.unobserve(entry.target);
      draw(entry.target);
    }
  }
}, { rootMargin: "500px" });
requestAnimationFrame(() => setTimeout(() => plots.forEach((plot) => near.observe(plot))));

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawnPlots.forEach(draw));
addEventListener("beforeprint", () => {
  document.documentElement.dataset.print = "";
  document.querySelectorAll("#run details").forEach((details) => { details.open = true; });
  const grid = document.getElementById("matrix");
  if (grid) grid.style.zoom = Math.min(1, SHEET / grid.offsetWidth);
  plots.forEach(draw);
});
addEventListener("afterprint", () => {
  delete document.documentElement.dataset.print;
  document.getElementById("matrix")?.style.removeProperty("zoom");
  drawnPlots.forEach(draw);
});
