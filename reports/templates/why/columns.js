/* The verdicts of roles of heads, over all of them together. */
const origins = read("origins");
const WORDS = [...origins.verdicts, "no role", "contrast"];
showVerdicts(origins.roles);
