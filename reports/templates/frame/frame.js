"use strict";
/* The frame of every page: the section in view, folds that open for their links, the filter of an answer, the side panel. */

/* The address of the page says what is shown, where the page may change it. */
function setHash(hash) {
  try {
    history.replaceState(null, "", hash || location.pathname + location.search);
  } catch {
    /* Pages inside other pages have no address of their own. */
  }
}

/* A link into a closed fold opens it. */
function openFolds(target) {
  for (let fold = target?.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
}

const frame = (() => {
  const links = [...document.querySelectorAll(".rail > ul a")];
  const targets = links.map((link) => document.getElementById(link.hash.slice(1)));

  function mark() {
    const line = innerHeight / 3;
    const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
    let place = 0;
    targets.forEach((target, number) => { if (target && (atEnd || target.getBoundingClientRect().top <= line)) place = number; });
    links.forEach((link, number) => {
      if (number === place) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    });
  }

  function follow() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    openFolds(target);
    if (target.matches("details")) target.open = true;
  }

  let waiting = false;
  addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; mark(); });
  }, { passive: true });
  addEventListener("hashchange", follow);
  follow();
  if (links.length) mark();
  return { mark };
})();

/* What the page is filtered by: a role and a decision from a sentence of the answer; null for nothing.
   Listeners of "filter" on the document get it as the detail of the event. */
const filter = (() => {
  const links = [...document.querySelectorAll("a[data-filter]")];
  const line = document.getElementById("filtered");
  let current = null;

  function parse(hash) {
    const [, sieve, decision] = /^#filter=([^,]*),([^,]+)$/.exec(hash) ?? [];
    return decision ? { sieve: decodeURIComponent(sieve), decision } : null;
  }

  function set(value, hash) {
    current = value;
    for (const link of links) {
      if (value && link.hash === hash) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    if (line) {
      const link = links.find((other) => other.hash === hash);
      line.hidden = !value;
      if (value) line.firstElementChild.textContent = `Shown: ${link ? link.textContent : `${value.sieve} · ${value.decision}`}`;
    }
    document.dispatchEvent(new CustomEvent("filter", { detail: value }));
  }

  function clear() {
    setHash("");
    set(null, "");
  }

  for (const link of links) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      if (link.hasAttribute("aria-current")) return clear();
      setHash(link.hash);
      set(parse(link.hash), link.hash);
    });
  }
  line?.querySelector("button").addEventListener("click", () => {
    const link = links.find((other) => other.hasAttribute("aria-current"));
    clear();
    link?.focus();
  });
  addEventListener("hashchange", () => { if (parse(location.hash)) set(parse(location.hash), location.hash); });
  /* After all scripts have run, so that their listeners hear it. */
  addEventListener("DOMContentLoaded", () => { if (parse(location.hash)) set(parse(location.hash), location.hash); });
  return { get current() { return current; }, set, clear };
})();

/* The panel at the side of the page; it is no dialog, so the page stays in use. Escape closes it, and gives focus back
   to where it was opened from. Its element gets an event "close". */
const side = (() => {
  const element = document.querySelector(".side");
  let opener = null;

  function show() {
    if (!element.contains(document.activeElement)) opener = document.activeElement;
    element.hidden = false;
    document.body.classList.add("with-side");
  }

  function close() {
    if (element.hidden) return;
    element.hidden = true;
    document.body.classList.remove("with-side");
    element.dispatchEvent(new Event("close"));
    if (opener?.isConnected && opener !== document.body) opener.focus({ preventScroll: true });
  }

  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && element && !event.defaultPrevented) close();
  });
  return { element, show, close, get isOpen() { return Boolean(element) && !element.hidden; } };
})();

addEventListener("beforeprint", () => document.querySelectorAll(".notice, .glossary").forEach((fold) => { fold.open = true; }));
