/* Downloads: tables made from the numbers of the page, and files embedded as they are. */
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
