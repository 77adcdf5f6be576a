"use strict";
/* The page's furniture: colour scheme, what our terms mean, and where in its contents the reader is. */
const scheme = (() => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)"), button = document.getElementById("theme"), repainted = [];
  const isDark = () => (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  function repaint() {
    button.textContent = isDark() ? "Light" : "Dark";
    button.ariaLabel = `${button.textContent} colours`;
    for (const each of repainted) each();
  }
  button.hidden = false;
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    repaint();
  });
  dark.addEventListener("change", repaint);
  repaint();
  return { onChange: (each) => repainted.push(each) };
})();

(() => {
  const tip = document.getElementById("tip");
  let of = null;

  /* Below the term, or above it where there is no room, and within the window. */
  function show(place) {
    const meaning = document.querySelector(`#${place.dataset.term} dd`);
    if (!meaning) return;
    hide();
    of = place;
    tip.textContent = meaning.textContent;
    tip.hidden = false;
    place.setAttribute("aria-describedby", "tip");
    const box = place.getBoundingClientRect(), own = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(8, Math.min(box.left, window.innerWidth - own.width - 8))}px`;
    tip.style.top = `${box.bottom + own.height + 12 < window.innerHeight ? box.bottom + 6 : Math.max(4, box.top - own.height - 6)}px`;
  }

  function hide() {
    tip.hidden = true;
    of?.removeAttribute("aria-describedby");
    of = null;
  }
  const termAt = (event) => event.target.closest?.("[data-term]");
  for (const [come, go] of [["mouseover", "mouseout"], ["focusin", "focusout"]]) {
    document.addEventListener(come, (event) => termAt(event) && show(termAt(event)));
    document.addEventListener(go, (event) => termAt(event) && hide());
  }
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
  document.addEventListener("scroll", () => of && (of.contains(document.activeElement) ? show(of) : hide()), { passive: true, capture: true });

  /* The part whose heading is the last one at the window's top or above it. */
  const links = [...document.querySelectorAll("nav a")], nav = document.querySelector("nav");
  const parts = links.map((link) => document.getElementById(link.hash.slice(1)));
  let isWaiting = false, current = null;
  function follow() {
    isWaiting = false;
    const tops = parts.map((part) => part.getBoundingClientRect().top);
    const isEnd = window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 4 && window.scrollY > 0;
    const place = isEnd ? links.length - 1 : Math.max(0, tops.findLastIndex((top) => top < 90));
    if (links[place] === current) return;
    current?.removeAttribute("aria-current");
    current = links[place];
    current.setAttribute("aria-current", "location");
    const box = current.getBoundingClientRect(), frame = nav.getBoundingClientRect();
    if (nav.scrollWidth > nav.clientWidth) nav.scrollLeft += box.left - frame.left - 24;
    if (box.bottom > frame.bottom || box.top < frame.top) nav.scrollTop += box.top - frame.top - frame.height / 2;
  }
  const later = () => {
    if (!isWaiting) requestAnimationFrame(follow);
    isWaiting = true;
  };
  document.addEventListener("scroll", later, { passive: true });
  window.addEventListener("resize", later);
  follow();
})();
