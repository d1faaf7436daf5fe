/* Strips of numbers: a cell per dimension, positive ones in the upper half, negative ones in the lower. */
const strips = (() => {
  const tones = () => [resolveColour("var(--tone-1)"), resolveColour("var(--tone-0)")];

  /* Colours a strip; `most` is the number that gets the full colour. */
  function paint(canvas, values, most, colours) {
    const picture = new ImageData(values.length, 2);
    values.forEach((value, place) => {
      const shade = most > 0 ? Math.round(255 * Math.min(Math.abs(value) / most, 1)) : 0;
      const pixel = 4 * (value > 0 ? place : values.length + place);
      picture.data.set([...colours[value > 0 ? 0 : 1], shade], pixel);
    });
    [canvas.width, canvas.height] = [values.length, 2];
    canvas.getContext("2d").putImageData(picture, 0, 0);
  }

  /* The number of the strip's cell under the pointer. */
  function under(event) {
    const box = event.target.getBoundingClientRect();
    const place = Math.floor((event.clientX - box.left) / box.width * event.target.width);
    return Math.min(Math.max(place, 0), event.target.width - 1);
  }

  function legend(host, most, products) {
    const entry = (className, text) => {
      const one = create("span");
      one.append(create("span", undefined, `view-swatch ${className}`), text);
      return one;
    };
    host.replaceChildren(
      entry("view-positive", "positive, in the upper half"), " ", entry("view-negative", "negative, in the lower half"), " ",
      create("span", `full colour: ±${decimals(most, 2)} in q and k, ±${decimals(products, 2)} in q × k`),
    );
  }

  return { tones, paint, under, legend };
})();
