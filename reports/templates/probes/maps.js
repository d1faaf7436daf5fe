/* A map per row and direction of a probe, and the panel of a head. */
const percentText = (value) => (Number.isNaN(value) ? "–" : (100 * value).toFixed(1));
const probeMaps = probeNames.maps.map((map) => {
  const means = Array.from({ length: perSieve }, (_, cell) => columns.mean[map.sieve * perSieve + cell]);
  const largest = Math.max(0, ...means.filter((mean) => !Number.isNaN(mean)));
  return { ...map, largest, note: `${map.heads} beyond` };
});
const probeValue = (row) => {
  const [mean, low, high] = ["mean", ...ENDS].map((name) => percentText(columns[name][row]));
  return low === "–" ? `${mean} %` : `${mean} % [${low}, ${high}]`;
};
const probeDescription = {
  look: (map, cell) => decidedLook(map, cell),
  lines: ({ sieve, title }, cell) => {
    const row = sieve * perSieve + cell;
    return [`${headName(cell)} · ${title}`, `right ${probeValue(row)}; baseline ${percentText(columns.null[row])} %`, WORDS[decisions[row]]];
  },
};
/* Rows that the head gets beyond their baseline first, then by accuracy. */
const openProbeHead = headPanel((cell) => {
  const rowAt = (map) => map.sieve * perSieve + cell;
  const rank = (map) => (decisions[rowAt(map)] === 0 ? 2 : 0) + (Number.isNaN(columns.mean[rowAt(map)]) ? -1 : columns.mean[rowAt(map)]);
  return [...probeMaps].sort((one, other) => rank(other) - rank(one)).map((map) => {
    const row = rowAt(map);
    const value = `${probeValue(row)}; baseline ${percentText(columns.null[row])} %`;
    return { name: map.title, value, decision: WORDS[decisions[row]], held: decisions[row] === 0 };
  });
}, (cell) => {
  const count = probeMaps.filter((map) => decisions[map.sieve * perSieve + cell] === 0).length;
  return `Beyond the baseline in ${count} of ${probeMaps.length} rows and directions, each tested by itself.`;
});
if (probeMaps.length) headMaps(document.getElementById("probe-maps"), probeMaps, probeDescription, openProbeHead);
