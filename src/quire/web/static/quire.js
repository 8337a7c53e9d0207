// What every page shares: calls to the API, messages, keys, the theme, commands, and numbers that stay true.

export class ApiError extends Error {
  constructor(status, body) {
    const error = body?.error ?? {};
    super([error.message || `the server answered ${status}`, error.fix].filter(Boolean).join("; "));
    this.status = status;
    this.kind = error.kind ?? "";
    this.mistakes = error.mistakes ?? []; // each with the pointer of its field
  }
}

// Calls the API; `body` is sent as JSON. Throws ApiError with the words to show.
export async function api(method, path, body, headers = {}) {
  const options = { method, headers: { Accept: "application/json", ...headers } };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["Content-Type"] = "application/json";
  }
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new ApiError(0, { error: { message: "the server does not answer", fix: "it is tried again when you act" } });
  }
  const text = await response.text();
  let data = null;
  try { data = text ? JSON.parse(text) : null; } catch { /* not JSON: told by its status */ }
  if (!response.ok) throw new ApiError(response.status, data);
  return data;
}

// Shows one line at the foot of the page; errors stay until they are closed.
export function tell(words, { error = false, undo = null } = {}) {
  const box = document.getElementById("messages");
  for (const old of box.querySelectorAll(".message.error")) if (!error || old.dataset.words === words) old.remove(); // it is mended, or said again
  const line = document.createElement("div");
  line.className = error ? "message error" : "message";
  line.dataset.words = words;
  line.append(words);
  if (undo) line.append(button("Undo", () => { line.remove(); undo(); }));
  if (error) line.append(button("Close", () => line.remove()));
  else setTimeout(() => line.remove(), 6000);
  box.append(line);
}

export function button(name, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = name;
  made.addEventListener("click", act);
  return made;
}

// Runs `act`, and tells what goes wrong.
export async function attempt(act) {
  try { return await act(); } catch (error) { tell(error.message, { error: true }); return undefined; }
}

// Asks once before what cannot be undone; `yes` and `no` are what the buttons say. Resolves to true, false, or null on Esc.
export function confirmOnce(title, words, yes, { danger = true, no = "Cancel" } = {}) {
  const box = document.createElement("dialog");
  const heading = Object.assign(document.createElement("h2"), { textContent: title, id: "confirm-title" });
  box.setAttribute("aria-labelledby", "confirm-title");
  const text = Object.assign(document.createElement("p"), { textContent: words });
  const row = Object.assign(document.createElement("div"), { className: "row" });
  return new Promise((resolve) => {
    const end = (answer) => { box.close(); box.remove(); resolve(answer); };
    const act = button(yes, () => end(true));
    act.className = danger ? "danger main" : "main";
    row.append(button(no, () => end(false)), act);
    box.append(heading, text, row);
    box.addEventListener("cancel", () => end(null));
    document.body.append(box);
    box.showModal();
    if (!danger) act.focus();
  });
}

// A key for one act, so that sending it twice does it once: the Idempotency-Key of a POST.
export const actKey = () => ({ "Idempotency-Key": crypto.randomUUID?.() ?? String(Math.random()).slice(2) });

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

// The address of this page with some of its query changed; null takes a part away.
export function changeQuery(values, { push = false } = {}) {
  const place = new URL(location.href);
  for (const [key, value] of Object.entries(values)) {
    if (value === null || value === undefined || value === "") place.searchParams.delete(key);
    else place.searchParams.set(key, value);
  }
  if (place.href !== location.href) history[push ? "pushState" : "replaceState"](null, "", place);
}

/* Live numbers. Parts of a page that change carry data-live="NAME": the page is asked for again, and where the new part of
   that name differs it takes the old one's place, unless somebody is in it. Rows of a growing list (<tbody
   data-live-rows="NAME">, <tr data-key>) are changed in place; new ones wait behind "12 new". Around it, <div
   data-live-list="NAME" data-full="50"> fills by itself until so many rows are in it: nobody reads on below them. A page says when:
   <main data-refresh="4"> every 4 seconds while it is looked at, <main data-follow="/v1/…/events"> whenever something
   happened there. A server that is away is looked for until it is back. */
let away = false;

function setAway(now) {
  if (away === now) return;
  away = now;
  const line = document.getElementById("away");
  if (line) line.hidden = !now;
}

const isInUse = (part) => part.contains(document.activeElement) && document.activeElement !== document.body
  && document.activeElement.matches("input, select, textarea, [contenteditable]") || part.querySelector("dialog[open]") !== null;

export async function refresh(path = location.href) {
  let response;
  try { response = await fetch(path, { headers: { Accept: "text/html" } }); } catch { setAway(true); return false; }
  if (response.status >= 500) { setAway(true); return false; }
  setAway(false);
  if (!response.ok) return false;
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const part of document.querySelectorAll("[data-live]")) {
    const next = fresh.querySelector(`[data-live="${CSS.escape(part.dataset.live)}"]`);
    if (next && !isInUse(part) && !part.isEqualNode(next)) keepFocus(part, document.importNode(next, true));
  }
  for (const list of document.querySelectorAll("[data-live-list]")) {
    const next = fresh.querySelector(`[data-live-list="${CSS.escape(list.dataset.liveList)}"]`);
    if (next && list.querySelectorAll("[data-live-rows] > tr").length < Number(list.dataset.full) && !isInUse(list) && !list.isEqualNode(next)) keepFocus(list, document.importNode(next, true));
  }
  for (const rows of document.querySelectorAll("[data-live-rows]")) {
    const next = fresh.querySelector(`[data-live-rows="${CSS.escape(rows.dataset.liveRows)}"]`);
    if (next) updateRows(rows, next);
  }
  showMoments();
  document.dispatchEvent(new CustomEvent("quire:refreshed"));
  return true;
}

// Replaces a part; whoever was on a button or link of it by keyboard stays there.
function keepFocus(part, next) {
  const places = "a[href], button, input, select, textarea, summary";
  const at = [...part.querySelectorAll(places)].indexOf(document.activeElement);
  const open = [...part.querySelectorAll("details")].map((one) => one.open);
  const scrolled = [...part.querySelectorAll(".scroll")].map((one) => one.scrollLeft);
  part.replaceWith(next);
  next.querySelectorAll(".scroll").forEach((one, place) => { one.scrollLeft = scrolled[place] ?? 0; });
  next.querySelectorAll("details").forEach((one, place) => { if (open[place]) one.open = true; });
  if (at >= 0) next.querySelectorAll(places)[at]?.focus({ preventScroll: true });
}

function updateRows(rows, next) {
  const known = new Map([...rows.children].map((row) => [row.dataset.key, row]));
  let news = 0;
  for (const row of next.children) {
    const old = known.get(row.dataset.key);
    if (!old) news += 1;
    else if (!old.isEqualNode(row) && !isInUse(old)) keepFocus(old, document.importNode(row, true));
  }
  const place = rows.closest("table")?.parentElement ?? rows.parentElement;
  let line = place.querySelector(":scope > .news");
  if (!news) { line?.remove(); return; }
  if (!line) { line = button("", () => location.reload()); line.className = "news"; place.prepend(line); }
  line.textContent = `${news} new`;
}

// Follows a stream of events; `tell` gets each one's data. Comes back by itself when the server was away.
export function follow(path, tell) {
  let source = null; let wait = 1000; let timer = 0;
  const open = () => {
    source = new EventSource(path);
    source.onopen = () => { const was = away; wait = 1000; setAway(false); if (was) tell(null); };
    source.onmessage = (event) => tell(event);
    for (const kind of ["progress", "run_event"]) source.addEventListener(kind, tell);
    source.onerror = () => {
      setAway(true);
      if (source.readyState !== EventSource.CLOSED) return; // it tries again by itself
      clearTimeout(timer);
      timer = setTimeout(open, wait);
      wait = Math.min(wait * 2, 15000);
    };
  };
  open();
  return () => { clearTimeout(timer); source.close(); };
}

function keepFresh() {
  const main = document.getElementById("main");
  const seconds = Number(main?.dataset.refresh ?? 0);
  let asked = false;
  const once = async () => { if (asked || document.hidden) return; asked = true; await refresh(); asked = false; };
  if (main?.dataset.follow) {
    let soon = 0;
    follow(main.dataset.follow, () => { clearTimeout(soon); soon = setTimeout(once, 250); });
  }
  if (seconds) {
    const again = async () => { await once(); setTimeout(again, (away ? 2 : seconds) * 1000); };
    setTimeout(again, seconds * 1000);
    document.addEventListener("visibilitychange", once);
  }
}

function showMoments() {
  for (const part of document.querySelectorAll("time[data-moment]")) {
    const text = ago((Date.now() - Date.parse(part.dateTime)) / 1000);
    if (part.textContent !== text) part.textContent = text;
  }
}

export function ago(seconds) {
  let length = Math.abs(seconds);
  if (length < 5) return "now";
  if (seconds < 0 && length > 3600) length += 60; // as the server says it
  const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const [unit, size] = units.find(([, most]) => length >= most);
  const words = `${Math.floor(length / size)} ${unit}`;
  return seconds < 0 ? `in ${words}` : `${words} ago`;
}

const JUMPS = { h: "/", d: "/documents", n: "/new", r: "/runs", s: "/spend" };
let chord = -Infinity;

export const isTyping = (event) => event.ctrlKey || event.metaKey || event.altKey
  || event.target.closest?.("input, select, textarea, [contenteditable], dialog[open]");

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && event.target.matches?.("input, textarea, select")) event.target.blur();
  if (isTyping(event) || event.defaultPrevented) return;
  if (event.timeStamp - chord < 1000 && JUMPS[event.key]) location.assign(JUMPS[event.key]);
  chord = event.key === "g" ? event.timeStamp : -Infinity;
  if (event.key === "/") { event.preventDefault(); document.getElementById("jump")?.focus(); }
  const link = /^[a-z]$/.test(event.key) && chord < 0 && document.querySelector(`a[data-key="${event.key}"]`); // a link with a key of its own
  if (link) { event.preventDefault(); link.click(); }
  if (event.key === "?") document.getElementById("keys")?.showModal();
});

document.addEventListener("click", (event) => {
  const switcher = event.target.closest("[data-theme-switch]");
  if (switcher) {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const now = document.documentElement.dataset.theme ?? (dark ? "dark" : "light");
    const next = now === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    localStorage.setItem("theme", next);
  }
  const command = event.target.closest("[data-command]");
  if (command) {
    navigator.clipboard?.writeText(command.dataset.command);
    tell(`copied: ${command.dataset.command}`);
  }
  const act = event.target.closest("button[data-post]"); // a button that does one call of the API, then shows what became
  if (act) attempt(() => doPost(act));
});

async function doPost(act) {
  if (act.dataset.ask && !(await confirmOnce(act.textContent.trim(), act.dataset.ask, act.textContent.trim()))) return;
  act.disabled = true;
  try {
    await api(act.dataset.method ?? "POST", act.dataset.post, JSON.parse(act.dataset.body ?? "{}"), actKey());
    if (act.dataset.done) tell(act.dataset.done);
    if (act.dataset.then) location.assign(act.dataset.then);
    else await refresh();
  } finally { act.disabled = false; }
}

showMoments();
setInterval(showMoments, 20000);
keepFresh();
