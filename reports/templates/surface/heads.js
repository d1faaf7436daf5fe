/* Every head in one line. */
const heads = document.getElementById("heads");
const statistics = read("surface-heads");

function headCell(sieve, fine, cell) {
  const row = sieve * perSieve + cell;
  const mean = columns.mean[row];
  const element = create("td", fine || Number.isNaN(mean) ? shortNumber(mean) : mean.toFixed(3));
  element.dataset.key = Number.isNaN(mean) ? "nan" : mean;
  if (decisions[row] > 1) return element;
  const mark = create("small", decisions[row] ? "▼" : "▲", decisions[row] ? "tone-0" : "tone-1");
  mark.title = WORDS[decisions[row]];
  element.append(mark);
  return element;
}

function headLine(_, cell) {
  const line = create("tr");
  const place = create("th", headName(cell));
  place.scope = "row";
  place.dataset.key = cell;
  line.append(place, ...statistics.map(([, sieve, fine]) => headCell(sieve, fine, cell)));
  return line;
}

function filterHeads() {
  const text = document.getElementById("heads-filter").value.toLowerCase().trim().replace(/\s+/g, " ");
  const term = /\d$/.test(text) ? ` ${text} ` : text;
  let count = 0;
  for (const line of heads.tBodies[0].rows) {
    const [layer, head] = line.cells[0].textContent.split("-");
    line.hidden = !` layer ${layer} head ${head} ${layer}-${head} `.includes(term);
    count += line.hidden ? 0 : 1;
  }
  const all = perSieve.toLocaleString("en");
  document.getElementById("heads-shown").textContent = count === perSieve ? `${all} heads` : `${count} of ${all} heads`;
}

function buildHeads() {
  for (const title of ["head", ...statistics.map(([title]) => title)]) {
    const heading = createIsolated("th", title);
    heading.scope = "col";
    heads.tHead.rows[0].append(heading);
  }
  heads.tBodies[0].append(...Array.from({ length: perSieve }, headLine));
  document.getElementById("heads-filter").addEventListener("input", filterHeads);
  document.getElementById("heads-controls").hidden = false;
  sortable(heads);
  filterHeads();
}

buildHeads();
