/* Figures are drawn when they come near, in the colours of the reader's theme, and again when it changes. */
const plots = [...document.querySelectorAll(".plot")];
const drawn = new Set();
/* Pixels across a sheet of paper. */
const SHEET = 680;

function coloured(value, style) {
  if (Array.isArray(value)) return value.map((inner) => coloured(inner, style));
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, coloured(inner, style)]));
  }
  if (typeof value !== "string" || !value.startsWith("var(--")) return value;
  return style.getPropertyValue(value.slice(4, -1)).trim();
}

/* Marks of heads bear the numbers of their heads; what is told of them is in the table of all findings. */
const HOVERED = ["mean", "low", "high", "effect", "p", "q"];
function tellHeads(trace) {
  const packed = trace.customdata?.bdata;
  const cells = packed ? new Uint32Array(bytes(packed).buffer) : [];
  trace.customdata = Array.from(cells, (cell) => {
    const row = trace.meta.sieve * perSieve + cell;
    return [Math.floor(cell / findings.heads), cell % findings.heads, ...HOVERED.map((name) => columns[name][row])];
  });
}

function draw(plot) {
  const spec = coloured(read(`${plot.id}-spec`), getComputedStyle(document.documentElement));
  for (const trace of spec.data) if (trace.meta?.sieve !== undefined) tellHeads(trace);
  const hidden = hiddenRoles(plot);
  for (const trace of spec.data) trace.visible = !(trace.meta && hidden(trace.meta.role));
  const config = {
    displaylogo: false,
    responsive: true,
    modeBarButtons: [["toImage"]],
    toImageButtonOptions: { format: "svg", filename: plot.id },
  };
  const first = !drawn.has(plot);
  drawn.add(plot);
  return Plotly.react(plot, spec.data, spec.layout, config).then(() => {
    quiet(plot);
    if (first) plot.on("plotly_afterplot", () => quiet(plot));
  });
}

/* The drawing is named and told in words, with a table behind it: its own scraps of text are not read out. */
function quiet(plot) {
  for (const drawing of plot.querySelectorAll(".main-svg, .hoverlayer")) drawing.setAttribute("aria-hidden", "true");
}

/* Whether a role is switched off by its button, or another one is picked where there are too many for buttons. */
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

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn.forEach(draw));
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
  drawn.forEach(draw);
});
