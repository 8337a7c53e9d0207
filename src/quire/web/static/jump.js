// Suggestions under the search field: down and up choose, Enter goes there, Esc closes. Without a choice Enter searches.

const field = document.getElementById("jump");
const list = document.getElementById("jump-places");
const PAUSE = 120; // milliseconds without a letter, after which the server is asked
let asking = null; // what is asked for now; what was asked before is given up
let timer = 0;
let at = -1; // the option that is chosen; -1: none

const options = () => [...list.children];

function choose(place) {
  at = place;
  for (const [no, option] of options().entries()) option.setAttribute("aria-selected", String(no === at));
  const chosen = options()[at];
  if (chosen) field.setAttribute("aria-activedescendant", chosen.id);
  else field.removeAttribute("aria-activedescendant");
  chosen?.scrollIntoView({ block: "nearest" });
}

function show(open) {
  list.hidden = !open;
  field.setAttribute("aria-expanded", String(open));
  choose(-1);
}

function close() {
  clearTimeout(timer);
  asking?.abort();
  show(false);
}

async function suggest() {
  asking?.abort();
  const own = asking = new AbortController();
  try {
    const query = new URLSearchParams({ q: field.value });
    const answer = await fetch(`/jump/places?${query}`, { signal: own.signal, headers: { Accept: "text/html" } });
    const text = answer.ok ? await answer.text() : "";
    if (own !== asking || own.signal.aborted || document.activeElement !== field) return;
    list.replaceChildren(...new DOMParser().parseFromString(text, "text/html").querySelectorAll("li"));
    show(list.childElementCount > 0);
  } catch { /* given up, or the server is away: Enter still searches */ }
}

function press(event) {
  if (event.isComposing) return;
  const count = list.hidden ? 0 : options().length;
  if (event.key === "Escape" && count) { event.stopPropagation(); close(); } // once more leaves the field
  else if (event.key === "ArrowDown" && count) choose(at + 1 < count ? at + 1 : -1);
  else if (event.key === "ArrowUp" && count) choose(at < 0 ? count - 1 : at - 1);
  else if (event.key === "ArrowDown") suggest();
  else if (event.key === "Enter" && at >= 0) location.assign(options()[at].dataset.href);
  else return;
  event.preventDefault();
}

if (field && list) {
  field.addEventListener("input", () => { clearTimeout(timer); if (field.value.trim()) timer = setTimeout(suggest, PAUSE); else close(); });
  field.addEventListener("keydown", press);
  field.addEventListener("blur", close);
  field.form.addEventListener("submit", close);
  list.addEventListener("mousedown", (event) => event.preventDefault()); // the field keeps the focus
  list.addEventListener("click", (event) => { const option = event.target.closest("[role=option]"); if (option) location.assign(option.dataset.href); });
}
