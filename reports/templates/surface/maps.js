/* A map per statistic of attention, and the panel of a head. */
const surfaceMaps = knownColumns.map((sieve) => {
  const rows = Array.from({ length: perSieve }, (_, cell) => sieve * perSieve + cell);
  const known = rows.map((row) => columns.mean[row]).filter((mean) => !Number.isNaN(mean));
  const above = rows.filter((row) => decisions[row] === 0).length;
  const ends = `${shortNumber(Math.min(...known))}–${shortNumber(Math.max(...known))}`;
  const tested = surface.tested[sieve] && !surface.broad[sieve];
  return {
    sieve, name: findings.sieves[sieve], title: surface.titles[sieve], shown: surface.tested[sieve],
    note: tested ? `${above} above even` : ends, largest: Math.max(...known),
  };
});
const surfaceValue = (row) => {
  const [mean, low, high] = ["mean", ...ENDS].map((name) => cellText(name, row));
  return low === "–" ? mean : `${mean} [${low}, ${high}]`;
};
const surfaceDescription = {
  look: (map, cell) => decidedLook(map, cell),
  lines: ({ sieve, title }, cell) => {
    const row = sieve * perSieve + cell;
    const even = Number.isNaN(columns.null[row]) ? "" : `; even attention ${cellText("null", row)}`;
    return [`${headName(cell)} · ${title}`, `mean ${surfaceValue(row)}${even}`, WORDS[decisions[row]]];
  },
};
const openSurfaceHead = headPanel((cell) => surfaceMaps.map(({ sieve, title }) => {
  const row = sieve * perSieve + cell;
  return { name: title, value: surfaceValue(row), decision: WORDS[decisions[row]], held: decisions[row] === 0 };
}), () => "Mean attention with its 95 % interval, and its decision against even attention.");
headMaps(document.getElementById("surface-maps"), surfaceMaps, surfaceDescription, openSurfaceHead);
