/* Tables that sort by a click on a heading, numbers by their keys, missing ones last, words as words; long ones are searched. */
const LONG = 16;

/* The sort key of a cell without one: the number its text begins with, else its text. */
function keyOf(text) {
  const number = text.trim().replace("−", "-").replace(/^[<≥≤]\s*/, "").replace(/(\d),(?=\d{3})/g, "$1");
  if (number === "" || number === "–") return "nan";
  const start = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?(?=$|[\s%[,(])/i.exec(number);
  return start ? String(Number(start[0])) : number;
}

function sortable(place) {
  const body = place.tBodies[0];
  const key = (line, column) => line.cells[column].dataset.key;
  const numeric = (column) => [...body.rows].every((line) => key(line, column) === "nan" || Number.isFinite(Number(key(line, column))));

  function sortLines(column, direction) {
    const lines = [...body.rows];
    if (numeric(column)) {
      const values = lines.map((line) => Number(key(line, column)));
      return sortRows([...lines.keys()], (line) => values[line], direction).map((line) => lines[line]);
    }
    return lines.sort((first, other) => direction * key(first, column).localeCompare(key(other, column), "en"));
  }

  for (const cell of body.querySelectorAll("th:not([data-key]), td:not([data-key])")) cell.dataset.key = keyOf(cell.textContent);
  [...place.tHead.rows[0].cells].forEach((heading, column) => {
    const button = create("button");
    button.type = "button";
    button.append(...heading.childNodes);
    button.addEventListener("click", () => {
      const direction = heading.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      for (const other of place.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      body.replaceChildren(...sortLines(column, direction));
    });
    heading.append(button);
  });
}

/* Rows that hold every word; a word that ends in a digit is a whole one, so that 2-1 is not 2-11. */
function searchable(place) {
  const lines = [...place.tBodies[0].rows];
  const texts = lines.map((line) => ` ${[...line.cells].map((cell) => cell.textContent).join(" ")} `.toLowerCase());
  const [controls, label, status] = [create("div", undefined, "controls"), create("label", "Filter "), create("span", "", "count")];
  const field = create("input");
  field.type = "search";
  status.setAttribute("role", "status");
  field.addEventListener("input", () => {
    const terms = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    lines.forEach((line, number) => {
      line.hidden = !terms.every((term) => texts[number].includes(/\d$/.test(term) ? ` ${term} ` : term));
    });
    const count = lines.filter((line) => !line.hidden).length;
    status.textContent = terms.length ? `${count.toLocaleString("en")} of ${lines.length.toLocaleString("en")} rows` : "";
  });
  label.append(field);
  controls.append(label, status);
  place.closest(".scroll").before(controls);
}

for (const place of document.querySelectorAll("table.sortable")) {
  sortable(place);
  if (place.tBodies[0].rows.length > LONG) searchable(place);
}
