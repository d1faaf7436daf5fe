keepTested();

/* A map per role with the verdicts of the heads that hold it. */
const roleMaps = origins.roles.map(({ column: sieve, name, title, note, codes, few }) => ({
  sieve, name, title, note, codes, few: new Set(few),
}));
const holds = (map, cell) => Number(map.codes[cell]) < origins.verdicts.length;
const whyDescription = {
  look(map, cell) {
    if (!holds(map, cell)) return { shade: 0 };
    const word = origins.verdicts[map.codes[cell]];
    return { shade: 1, kind: word.replace(" ", "-"), mark: origins.marks[map.codes[cell]], open: word === "undetermined", held: map.few.has(cell) };
  },
  lines(map, cell) {
    if (!holds(map, cell)) return [`${headName(cell)} · ${map.title}`, "does not hold the role"];
    const [share, verdict] = origins.heads[cell].find(([name]) => name === map.title).slice(1);
    return [`${headName(cell)} · ${map.title}`, `vertical share ${share}`, `${verdict}${map.few.has(cell) ? "; few neurons" : ""}`];
  },
};
const openWhyHead = headPanel((cell) => (origins.heads[cell] ?? []).flatMap(([name, share, verdict, more]) => [
  { name, value: `vertical share ${share}`, decision: verdict, held: verdict === "vertical" },
  ...more.map(([what, value, decision]) => ({ name: what, value, decision, held: false })),
]), (cell) => origins.sentences[cell] ?? "This head holds no role that was asked about.");
if (document.getElementById("why-maps")) headMaps(document.getElementById("why-maps"), roleMaps, whyDescription, openWhyHead);

/* The table begins with the vertical parts of the first role. */
const showFirst = () => filterTable({ sieve: origins.roles[0]?.name ?? "" });
document.addEventListener("filter", ({ detail }) => { if (!detail) showFirst(); });
showFirst();
