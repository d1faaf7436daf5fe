/* Tables that sort by a click on a heading: numbers by their keys, missing ones last, words as words. */
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
document.querySelectorAll("table.sortable").forEach(sortable);
