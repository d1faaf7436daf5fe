/* Figures of which one is shown at a time. */
for (const choice of document.querySelectorAll(".one-of")) {
  const pick = choice.querySelector("select");
  const show = () => {
    for (const figure of choice.nextElementSibling.children) {
      figure.hidden = figure.id !== pick.value;
      for (const plot of figure.hidden ? [] : figure.querySelectorAll(".plot")) if (drawnPlots.has(plot)) Plotly.Plots.resize(plot);
    }
  };
  pick.addEventListener("input", show);
  choice.hidden = false;
  show();
}
