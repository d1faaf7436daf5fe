/* The cluster of every head, and the maps of roles. */
const clusterData = read("clusters-data");
const clusterSizes = clusterData.cluster.reduce((sizes, number) => sizes.set(number, (sizes.get(number) ?? 0) + 1), new Map());
const CLUSTER_TONES = 8;
const clusterWord = (number) => (number < 0 ? "no cluster" : `cluster ${number}`);
const scoreText = (row) => {
  const [mean, low, high] = ["mean", ...ENDS].map((name) => cellText(name, row));
  return low === "–" ? mean : `${mean} [${low}, ${high}]`;
};
const chooseHead = (cell) => openHead(cell);
headMaps(document.getElementById("cluster-heads"), [
  { title: "Cluster of every head", name: "", note: `${[...clusterSizes.keys()].filter((number) => number >= 0).length} clusters` },
], {
  look: (_, cell) => {
    const number = clusterData.cluster[cell];
    return number < 0 ? { mark: "×" } : { shade: 0.45, kind: `toned tone-${number % CLUSTER_TONES}`, mark: String(number) };
  },
  lines: (_, cell) => {
    const number = clusterData.cluster[cell];
    const held = findings.roles.filter((role) => decisions[role.sieve * perSieve + cell] === 0).map((role) => findings.sieves[role.sieve]);
    return [`${headName(cell)} · ${clusterWord(number)}`, `${clusterSizes.get(number)} heads`, `roles: ${held.join(", ") || "none"}`];
  },
}, chooseHead);
const roleMaps = findings.roles.map((role, number) => {
  const rows = Array.from({ length: perSieve }, (_, cell) => role.sieve * perSieve + cell);
  const known = rows.map((row) => columns.mean[row]).filter((mean) => !Number.isNaN(mean));
  const heads = rows.filter((row) => decisions[row] === 0).length;
  return { sieve: role.sieve, tone: role.tone, name: findings.sieves[role.sieve], title: clusterData.titles[number], note: `${heads} heads`, largest: Math.max(0, ...known) };
});
if (roleMaps.length) {
  headMaps(document.getElementById("role-maps"), roleMaps, {
    look: (map, cell) => ({ ...decidedLook(map, cell, { 0: "•", 4: "~" }), kind: `toned tone-${map.tone}` }),
    lines: ({ sieve, title }, cell) => {
      const row = sieve * perSieve + cell;
      return [`${headName(cell)} · ${title}`, `mean ${scoreText(row)}`, WORDS[decisions[row]]];
    },
  }, chooseHead);
}
