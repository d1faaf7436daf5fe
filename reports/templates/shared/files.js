/* Downloads: tables made from the numbers of the page, files embedded as they are, and text for the clipboard. */
/* Numbers as Python writes them: the shortest digits that read back as the same number. */
function numberText(number, whole) {
  if (Number.isNaN(number)) return "";
  if (!Number.isFinite(number)) return number > 0 ? "inf" : "-inf";
  if (whole) return String(number);
  const size = Math.abs(number);
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) {
    return number.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  }
  const text = Object.is(number, -0) ? "-0" : String(number);
  return text.includes(".") ? text : `${text}.0`;
}

const csvCell = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/* The manifest of a run's folder also lists its files; the page's copy of it has another name. */
const manifestText = () => document.getElementById("manifest").textContent.trim() + "\n";
const FILES = { "manifest.json": manifestText, "run.json": manifestText };
if (document.getElementById("files")) {
  for (const [name, text] of Object.entries(read("files"))) FILES[name] = () => text;
}
document.getElementById("downloads").addEventListener("click", (event) => {
  const name = event.target.dataset.file;
  if (!name) return;
  const link = create("a");
  link.href = URL.createObjectURL(new Blob([FILES[name]()], { type: "text/plain;charset=utf-8" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
});
document.getElementById("downloads").hidden = false;

/* Put text on the clipboard; where the browser refuses, show it selected in a field, to be copied by hand. */
function copyText(button, text) {
  button.dataset.label ??= button.textContent;
  const announce = (word) => {
    button.textContent = word;
    setTimeout(() => { button.textContent = button.dataset.label; }, 1500);
  };
  const bySelection = () => {
    const field = create("textarea", undefined, "to-copy");
    field.value = text;
    field.readOnly = true;
    field.setAttribute("aria-label", "Text to copy");
    button.after(field);
    field.select();
    if (!document.execCommand("copy")) {
      announce("Selected");
      field.addEventListener("blur", () => field.remove(), { once: true });
      return;
    }
    field.remove();
    button.focus();
    announce("Copied");
  };
  if (!navigator.clipboard || document.featurePolicy?.allowsFeature("clipboard-write") === false) bySelection();
  else navigator.clipboard.writeText(text).then(() => announce("Copied"), bySelection);
}

for (const button of document.querySelectorAll("button[data-copy]")) {
  const end = button.dataset.copy === "command" ? "" : "\n";
  button.hidden = false;
  button.addEventListener("click", () => copyText(button, document.getElementById(button.dataset.copy).textContent.trim() + end));
}

/* A table as Markdown and as LaTeX that show its text as it is; the first column holds words. */
const quiet = (text) => text.replace(/[\p{Cc}\p{Zl}\p{Zp}]/gu, " ");
const markdownCell = (text) => quiet(text).replace(/[\\|`*_~]|<(?=[A-Za-z/!?])|&(?=#?\w+;)/g, "\\$&") || " ";

function markdownTable(header, rows, caption) {
  const lines = [header, header.map((_, column) => (column ? "---:" : "---"))];
  const cells = (line) => `| ${line.map(markdownCell).join(" | ")} |`;
  return `${caption ? `${markdownCell(caption)}\n\n` : ""}${cells(lines[0])}\n| ${lines[1].join(" | ")} |\n${rows.map(cells).join("\n")}\n`;
}

const LATEX = {
  "\\": "\\textbackslash{}", "{": "\\{", "}": "\\}", $: "\\$", "&": "\\&", "#": "\\#", "%": "\\%", _: "\\_", "^": "\\textasciicircum{}", "\u2060": "{}",
  "~": "\\textasciitilde{}", "<": "\\textless{}", ">": "\\textgreater{}", "|": "\\textbar{}", '"': "\\textquotedbl{}", "'": "\\textquotesingle{}",
  "`": "\\textasciigrave{}", "\u00a0": "~", "–": "--", "−": "$-$", "×": "$\\times$", "≤": "$\\leq$", "≥": "$\\geq$", "∞": "$\\infty$",
  "→": "$\\rightarrow$", "←": "$\\leftarrow$", θ: "$\\theta$", "±": "$\\pm$", "“": "``", "”": "\'\'", "’": "\'",
};
function latexCell(text) {
  const latex = [...quiet(text).replace(/\p{Cf}/gu, "").replace(/-(?=-)/g, "-\u2060")].map((letter) => LATEX[letter] ?? letter).join("");
  return /^[[*]/.test(latex) ? `{${latex[0]}}${latex.slice(1)}` : latex;
}

function latexTable(header, rows, caption) {
  const cells = (line) => `${line.map(latexCell).join(" & ")} \\\\`;
  const long = rows.length > 40;
  const columns = header.map((_, column) => (column ? "r" : "l")).join("");
  const title = caption ? `\\caption{${latexCell(caption)}}` : "";
  const body = [cells(header), "\\midrule", ...(long ? ["\\endhead", "\\bottomrule", "\\endfoot"] : []), ...rows.map(cells)].join("\n");
  return long
    ? `% \\usepackage{booktabs,longtable}\n\\begin{longtable}{${columns}}\n${title ? `${title}\\\\\n` : ""}\\toprule\n${body}\n\\end{longtable}\n`
    : `% \\usepackage{booktabs}\n\\begin{table}\n\\centering\n${title}\n\\begin{tabular}{${columns}}\n\\toprule\n${body}\n\\bottomrule\n\\end{tabular}\n\\end{table}\n`;
}
