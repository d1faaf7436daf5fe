// Frames of runs in tutorials get the height of their maps, which depends on the width of the page.
(() => {
  const frames = [...document.querySelectorAll(".shown iframe")];
  addEventListener("message", (event) => {
    const frame = frames.find((one) => one.contentWindow === event.source);
    const height = Number(event.data && event.data.mapsHeight);
    if (frame && height > 0) frame.style.height = `${height + 16}px`;
  });
  for (const frame of frames) frame.contentWindow.postMessage("mapsHeight", "*");
})();
