/* Figures are drawn when they come near, in the colours of the reader's theme, and again when it changes. */
const plots = [...document.querySelectorAll(".plot")];
const drawn = new Set();

function coloured(value, style) {
  if (Array.isArray(value)) return value.map((inner) => coloured(inner, style));
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, coloured(inner, style)]));
  }
  if (typeof value !== "string" || !value.startsWith("var(--")) return value;
  return style.getPropertyValue(value.slice(4, -1)).trim();
}

function draw(plot) {
  const spec = coloured(read(`${plot.id}-spec`), getComputedStyle(document.documentElement));
  const hidden = hiddenRoles(plot);
  for (const trace of spec.data) trace.visible = !(trace.meta && hidden(trace.meta.role));
  const config = {
    displaylogo: false,
    responsive: true,
    modeBarButtons: [["toImage"]],
    toImageButtonOptions: { format: "svg", filename: plot.id },
  };
  drawn.add(plot);
  return Plotly.react(plot, spec.data, spec.layout, config);
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
  plots.forEach(draw);
});
addEventListener("afterprint", () => {
  delete document.documentElement.dataset.print;
  drawn.forEach(draw);
});
