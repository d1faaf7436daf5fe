/* Tables that sort by a click on a heading, numbers by their keys, missing ones last, words as words; long ones are searched. */
const LONG = 16;

/* What a cell without a key is sorted by: the number its text begins with, else its text. */
function keyOf(text) {
  const told = text.trim().replace("−", "-").replace(/^[<≥≤]\s*/, "").replace(/(\d),(?=\d{3})/g, "$1");
  if (told === "" || told === "–") return "nan";
  const start = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?(?=$|[\s%[,(])/i.exec(told);
  return start ? String(Number(start[0])) : told;
}

function sortable(place) {
  const body = place.tBodies[0];
  const key = (line, column) => line.cells[column].dataset.key;
  const numeric = (column) => [...body.rows].every((line) => key(line, column) === "nan" || Number.isFinite(Number(key(line, column))));

  function sorted(column, direction) {
    const lines = [...body.rows];
    if (numeric(column)) {
      const values = lines.map((line) => Number(key(line, column)));
      return ordered([...lines.keys()], (line) => values[line], direction).map((line) => lines[line]);
    }
    return lines.sort((one, other) => direction * key(one, column).localeCompare(key(other, column), "en"));
  }

  for (const cell of body.querySelectorAll("th:not([data-key]), td:not([data-key])")) cell.dataset.key = keyOf(cell.textContent);
  [...place.tHead.rows[0].cells].forEach((heading, column) => {
    const button = made("button");
    button.type = "button";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => {
      const direction = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      for (const other of place.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      body.replaceChildren(...sorted(column, direction));
    });
    heading.append(button);
  });
}

/* Rows that hold every word; a word that ends in a digit is a whole one, so that 2-1 is not 2-11. */
function searchable(place) {
  const lines = [...place.tBodies[0].rows];
  const texts = lines.map((line) => ` ${[...line.cells].map((cell) => cell.textContent).join(" ")} `.toLowerCase());
  const [controls, label, told] = [made("div", undefined, "controls"), made("label", "Filter "), made("span", "", "count")];
  const field = made("input");
  field.type = "search";
  told.setAttribute("role", "status");
  field.addEventListener("input", () => {
    const terms = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    lines.forEach((line, number) => {
      line.hidden = !terms.every((term) => texts[number].includes(/\d$/.test(term) ? ` ${term} ` : term));
    });
    const count = lines.filter((line) => !line.hidden).length;
    told.textContent = terms.length ? `${count.toLocaleString("en")} of ${lines.length.toLocaleString("en")} rows` : "";
  });
  label.append(field);
  controls.append(label, told);
  place.closest(".scroll").before(controls);
}

for (const place of document.querySelectorAll("table.sortable")) {
  sortable(place);
  if (place.tBodies[0].rows.length > LONG) searchable(place);
}
