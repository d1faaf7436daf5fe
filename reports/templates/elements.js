"use strict";
/* Elements of all pages: found by their ids, and made without markup. Attributes that are undefined are left out. */
const by = (id) => document.getElementById(id);
function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(name, String(value));
  element.append(...children.flat());
  return element;
}
const html = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);
/* An element of a drawing. */
const shape = (tag, attributes, ...children) => filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
const isolated = (text) => html("bdi", {}, text);

/* Bytes that stand in a page as base64, and packed bytes. */
const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
async function unpack(text) {
  const stream = new Blob([bytes(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* Say which of several buttons is pressed. */
const press = (buttons, isPressed) => { for (const button of buttons) button.setAttribute("aria-pressed", String(isPressed(button))); };

/* The address of the page says what is shown, where the page may change it: pages inside other pages have none. */
function setHash(hash) {
  try {
    history.replaceState(null, "", hash || location.pathname + location.search);
  } catch {
    /* Nothing is lost but the address. */
  }
}
