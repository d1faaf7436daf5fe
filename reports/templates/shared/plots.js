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
const HOVER_COLUMNS = ["mean", ...ENDS, "effect", "p", "q"];
function addHeadNumbers(trace) {
  const packed = trace.customdata?.bdata;
  const cells = packed ? new Uint32Array(bytes(packed).buffer) : [];
  trace.customdata = Array.from(cells, (cell) => {
    const row = trace.meta.sieve * perSieve + cell;
    return [Math.floor(cell / findings.heads), cell % findings.heads, ...HOVER_COLUMNS.map((name) => columns[name][row])];
  });
}

function draw(plot) {
  const spec = resolveColours(read(`${plot.id}-spec`), getComputedStyle(document.documentElement));
  for (const trace of spec.data) if (trace.meta?.sieve !== undefined) addHeadNumbers(trace);
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
    button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
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
plots.forEach((plot) => near.observe(plot));

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
