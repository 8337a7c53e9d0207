// The review page: keys, which item is open, and what is decided about it.
//
// From a key to the next item nothing is waited for: the next items are here and leased (review_items.js), decisions are
// sent behind (decision_queue.js), and what the server refuses comes back with the reason.

import { api, attempt, changeQuery, isTyping, tell } from "/static/quire.js";
import { hasBulk, openBulk, tellOfBulk, undoBulk } from "/static/review_bulk.js";
import { DecisionQueue } from "/static/decision_queue.js";
import { makeEditor } from "/static/review_editor.js";
import { ReviewItems } from "/static/review_items.js";
import { Reviewer } from "/static/reviewer.js";

const AHEAD = 6; // items that are ready before they are wanted
const LOW = 3; // so few ready: more are got
const KEPT_BEHIND = 3; // leases of items that were passed by
const RENEW = 240000; // milliseconds; a lease lasts 15 minutes
const COUNT_AGAIN = 30000;

const root = document.getElementById("review");
const place = document.getElementById("place");
const lines = document.getElementById("lines");
const mayDecide = root.dataset.mayDecide !== "";
const reviewer = new Reviewer(root);
const items = new ReviewItems(Number(root.dataset.run), reviewer, mayDecide);
const queue = new DecisionQueue(`review ${root.dataset.run}`, showSaving);
const drafts = new Map(); // task -> an editor that was left with changes
const history_ = []; // tasks that were decided here, the last at the end
const numbers = new Map(); // of their decisions, as the server said
let open = null; // task
let editor = null;
let left = Number(root.dataset.left);
let nextLines = root.dataset.next;

const PAST = { approve: "approved", edit: "edited", reject: "rejected" };
const lineOf = (task) => lines.querySelector(`li[data-task="${task}"]`);
const taskOf = (line) => Number(line.dataset.task);
const isFree = (line) => line.dataset.review === root.dataset.wanted && !line.dataset.held && !line.dataset.skipped;
root.dataset.wanted = "unreviewed";

function showSaving(count, away) {
  const words = document.getElementById("saving");
  words.textContent = !count ? "" : away ? `not saved yet: ${count}; the server does not answer, it is tried again` : `saving ${count}`;
  words.classList.toggle("away", away);
}

// Opens an item that is here; `event` is the key that wanted it.
function show(task, event = null) {
  const article = items.get(task);
  closeEditor();
  place.replaceChildren(article);
  open = task;
  const line = lineOf(task) ?? addLine(article);
  pointTo(line);
  article.focus({ preventScroll: true });
  [...article.querySelectorAll(".subject")].find((way) => way.offsetParent)?.scrollIntoView({ block: "nearest" });
  changeQuery({ item: task, edit: null });
  showSource(task);
  showActs(article, line);
  if (event) measure(event);
}

// The call that gives the numbers of the item that is shown.
function showSource(task) {
  const link = document.getElementById("item-source");
  if (!link) return;
  link.href = `/v1/tasks/${task}`;
  link.firstElementChild.textContent = `GET /v1/tasks/${task}`;
}

function pointTo(line) {
  for (const other of lines.querySelectorAll("[aria-current]")) other.removeAttribute("aria-current");
  line.setAttribute("aria-current", "true");
  line.scrollIntoView({ block: "nearest" });
}

// How long it took from the key until the item was painted.
function measure(event) {
  requestAnimationFrame(() => setTimeout(() => performance.measure("next item", { start: event.timeStamp, end: performance.now() })));
}

function addLine(article) {
  const line = article.querySelector("template.as-line").content.querySelector("li").cloneNode(true);
  lines.append(line);
  return line;
}

function showActs(article, line) {
  const why = items.refused.get(open);
  const held = article.querySelector(".held");
  held.hidden = !why;
  held.textContent = why ?? "";
  const decided = article.dataset.review !== "unreviewed" || line.dataset.review !== "unreviewed";
  const rejected = line.dataset.review === "rejected" || article.dataset.review === "rejected";
  const gone = Boolean(why) || !mayDecide;
  const off = { approve: gone || decided, edit: gone || rejected, reject: gone || rejected, skip: gone || decided, undo: !mayDecide || !(history_.length || hasBulk() || article.dataset.undoable) };
  for (const way of ["next", "previous"]) for (const one of root.querySelectorAll(`[data-act="${way}"]`)) one.disabled = false;
  for (const [act, is] of Object.entries(off)) for (const one of root.querySelectorAll(`[data-act="${act}"]`)) one.disabled = is;
  const cost = root.querySelector(".cost");
  if (cost) cost.textContent = article.dataset.cost;
  root.querySelector(".cost-words")?.toggleAttribute("hidden", !article.dataset.cost);
}

const costWords = (article) => (article.dataset.cost ? ` · asks again for about ${article.dataset.cost}` : "");

// Lines from one on, in a direction, around the end; the first that `fits`.
function findLine(from, step, fits) {
  const all = [...lines.children];
  const at = from ? all.indexOf(from) : -1;
  for (let place_ = 1; place_ <= all.length; place_ += 1) {
    const line = all[(at + step * place_ + all.length * 2) % all.length];
    if (line && line !== from && fits(line)) return line;
  }
  return null;
}

// The item after this one that wants a decision; more lines are got where these are at their end.
async function goOn(event) {
  let line = findLine(lineOf(open), 1, isFree);
  while (!line && nextLines) { await moreLines(); line = findLine(lineOf(open), 1, isFree); }
  if (!line) { showNothing(); return; }
  await go(line, event);
}

async function go(line, event) {
  const task = taskOf(line);
  if (!items.get(task) && !(await openSoon(line, task, event))) return;
  show(task, event);
  prefetch();
}

// Waits for an item that was not here yet; false where another is wanted by then.
async function openSoon(line, task, event) {
  closeEditor();
  open = task;
  pointTo(line);
  place.replaceChildren(Object.assign(document.createElement("p"), { className: "empty", textContent: `opening #${task} …` }));
  const refused = await attempt(() => items.prepare([task]));
  if (refused === undefined || open !== task) return false;
  if (!refused.length || !isFree(line)) return true;
  markRefused(refused);
  await goOn(event);
  return false;
}

function showNothing() {
  const skipped = lines.querySelectorAll("li[data-skipped]").length;
  const box = document.createElement("div");
  box.className = "empty";
  box.id = "nothing";
  const words = document.createElement("p");
  words.textContent = skipped ? `Nothing left but ${skipped} that you skipped.` : "Nothing left here: all of these are decided, or others are at them.";
  const again = document.createElement("a");
  again.href = skipped ? location.pathname + location.search.replace(/[?&]item=\d+/, "") : "?filter=review%3Dany";
  again.textContent = skipped ? "Look at them again" : "Look at everything that has a result";
  box.append(words, again);
  place.replaceChildren(box);
  open = null;
  turnOff();
}

// Without an item nothing can be decided; what was decided here can be taken back.
function turnOff() {
  for (const one of root.querySelectorAll(".acts [data-act]")) one.disabled = one.dataset.act !== "undo" || !(history_.length || hasBulk());
}

let prefetching = null;
function prefetch() {
  if (prefetching) return;
  const wanted = [];
  let line = lineOf(open);
  for (let count = 0; count < AHEAD && line; count += 1) {
    line = nextFree(line);
    if (line) wanted.push(taskOf(line));
  }
  const missing = wanted.filter((task) => !items.get(task));
  if (wanted.length - missing.length > LOW || !missing.length) { if (wanted.length < AHEAD && nextLines) moreLines().then(prefetch, () => {}); return; }
  prefetching = items.prepare(missing).then(
    (refused) => { prefetching = null; markRefused(refused); prefetch(); },
    () => { prefetching = null; }, // the next key tries again
  );
  leaveBehind();
}

function nextFree(line) {
  let next = line.nextElementSibling;
  while (next && !isFree(next)) next = next.nextElementSibling;
  return next;
}

function markRefused(tasks) {
  for (const task of tasks) {
    const line = lineOf(task);
    if (!line || place.contains(items.get(task) ?? null)) continue; // it is looked at: the reason stands above it
    line.dataset.held = "1";
    line.querySelector(".by").textContent = items.refused.get(task);
  }
  for (const [task, article] of items.articles) { // decided by somebody since the list was made
    const line = lineOf(task);
    if (line && line.dataset.review === "unreviewed" && article.dataset.review !== "unreviewed") settleLine(line, article.dataset.review, "");
  }
}

// Gives back what was passed by, so that others are given it.
function leaveBehind() {
  const passed = [...lines.children].slice(0, [...lines.children].indexOf(lineOf(open))).map(taskOf).filter((task) => items.held.has(task));
  items.release(passed.slice(0, -KEPT_BEHIND));
  for (const task of passed.slice(0, -KEPT_BEHIND)) items.forget(task);
}

let loading = null;
function moreLines() {
  loading ??= (async () => {
    const query = new URLSearchParams({ filter: root.dataset.filter, cursor: nextLines });
    const response = await fetch(`/runs/${root.dataset.run}/review/lines?${query}`, { headers: { Accept: "text/html" } });
    if (!response.ok) { nextLines = ""; return; }
    const box = document.createElement("template");
    box.innerHTML = await response.text(); // made by our own templates, which escape every value
    const list = box.content.querySelector("ol");
    nextLines = list.dataset.next;
    for (const line of [...list.children]) if (!lineOf(taskOf(line))) lines.append(line);
    claimOwn();
    document.getElementById("more").hidden = !nextLines;
  })().finally(() => { loading = null; });
  return loading;
}

// What the server says that this reviewer is at is free for them. Returns these lines.
function claimOwn() {
  const own = [...lines.querySelectorAll("li[data-held]")].filter((line) => line.dataset.held === reviewer.name);
  for (const line of own) {
    delete line.dataset.held;
    line.querySelector(".by").textContent = "";
  }
  return own;
}

function settleLine(line, review, by) {
  line.dataset.review = review;
  const state = Object.assign(document.createElement("span"), { className: `state ${review}`, textContent: review });
  line.querySelector(".reason, .state").replaceWith(state);
  line.querySelector(".by").textContent = by;
}

function count(change, line) {
  left = Math.max(0, left + change);
  document.getElementById("left").textContent = left.toLocaleString("en");
  const reason = line?.dataset.reason;
  if (!reason) return;
  addTo(root.querySelector(`[data-count="${reason}"]`), change);
  if (reason !== "none") addTo(document.getElementById("wanting"), change);
}

function addTo(place_, change) {
  if (!place_) return;
  place_.dataset.number = Math.max(0, Number(place_.dataset.number ?? place_.textContent.replaceAll(",", "")) + change);
  place_.textContent = Number(place_.dataset.number).toLocaleString("en");
}

// The answer that was shown: a decision about another is refused.
const seen = (article) => (article?.dataset.result ? { result: Number(article.dataset.result) } : {});

// Decides about the open item, and shows the next one at once; what is refused comes back.
function decide(move, body, event) {
  const task = open;
  const article = items.get(task);
  const wanted = article.dataset.review === "unreviewed";
  history_.push(task);
  article.dataset.review = PAST[move];
  items.held.delete(task);
  settleLine(lineOf(task), PAST[move], "by you");
  if (wanted) count(-1, lineOf(task));
  queue.push(task, move, { ...reviewer.body, ...seen(article), ...body }).then(
    (done) => { numbers.set(task, done?.decision); if (open !== task) items.forget(task); },
    (error) => bringBack(task, move, error, wanted),
  );
  goOn(event);
}

function bringBack(task, move, error, wanted) {
  const at = history_.lastIndexOf(task);
  if (at >= 0) history_.splice(at, 1);
  if (wanted) count(1, lineOf(task));
  tell(`#${task} is not ${PAST[move] ?? move}: ${error.message}`, { error: true });
  return reopen(task);
}

// Shows an item as it stands now; where an editor is open that stays, and the item waits in the list.
async function reopen(task) {
  items.forget(task);
  await attempt(() => items.prepare([task], { again: true }));
  const article = items.get(task);
  if (!article) return;
  const fresh = article.querySelector("template.as-line").content.querySelector("li").cloneNode(true);
  const old = lineOf(task);
  if (fresh.dataset.held === reviewer.name) { delete fresh.dataset.held; fresh.querySelector(".by").textContent = ""; }
  if (old) old.replaceWith(fresh); else lines.prepend(fresh);
  if (!editor) show(task);
}

function openEditor() {
  const article = items.get(open);
  const item = JSON.parse(article.querySelector("script.editable").textContent);
  editor = drafts.get(open) ?? makeEditor(item, `Edit task ${open}`);
  if (drafts.delete(open)) lineOf(open).querySelector(".by").textContent = "";
  article.querySelector(".record").hidden = true;
  article.querySelector(".editor").replaceChildren(editor.form);
  editor.form.onsubmit = (event) => event.preventDefault();
  editor.form.onkeydown = (event) => {
    if (event.key === "Escape") { event.preventDefault(); event.stopPropagation(); leaveEditor(); }
    if (event.key === "Enter" && !event.shiftKey && !event.target.closest("button:not([role=switch])")) { event.preventDefault(); save(event); }
  };
  editor.form.onfocusin = (event) => pointAt(event.target.closest("[data-field]")?.dataset.field);
  if (!editor.form.querySelector(".edit-acts")) editor.form.append(editActs());
  editor.focus();
}

function editActs() {
  const row = Object.assign(document.createElement("div"), { className: "edit-acts row" });
  const yes = Object.assign(document.createElement("button"), { type: "button", className: "main", textContent: "Save" });
  const no = Object.assign(document.createElement("button"), { type: "button", textContent: "Cancel" });
  yes.addEventListener("click", save);
  no.addEventListener("click", leaveEditor);
  row.append(no, yes);
  return row;
}

// The words in the source that show a field stand out while it is edited.
function pointAt(field) {
  for (const mark of place.querySelectorAll("mark")) mark.classList.toggle("pointed", mark.dataset.field === field);
}

async function save(event) {
  const task = open;
  const changes = editor.read();
  if (changes === null) return;
  if (!Object.keys(changes).length) { leaveEditor(); tell("nothing was changed"); return; }
  const { form } = editor;
  const words = editor.words(changes);
  const wanted = items.get(task).dataset.review === "unreviewed";
  form.inert = true;
  form.setAttribute("aria-busy", "true");
  try {
    const done = await queue.push(task, "edit", { ...reviewer.body, ...seen(items.get(task)), changes });
    numbers.set(task, done?.decision);
  } catch (error) {
    form.inert = false;
    form.removeAttribute("aria-busy");
    if (editor?.form === form) editor.show(error.mistakes.length ? error.mistakes : [{ pointer: "", message: error.message }]);
    return;
  }
  history_.push(task);
  items.held.delete(task);
  items.forget(task);
  settleLine(lineOf(task), "edited", "by you");
  tell(`#${task} saved: ${words}`);
  if (wanted) count(-1, lineOf(task));
  editor = null;
  if (open === task) await goOn(event);
}

function leaveEditor() {
  const task = open;
  closeEditor();
  items.get(task)?.focus({ preventScroll: true });
}

function closeEditor() {
  if (!editor) return;
  if (editor.changed()) {
    drafts.set(open, editor);
    const by = lineOf(open)?.querySelector(".by");
    if (by) by.textContent = "written, not saved";
    tell(`#${open} is not changed; what you wrote is there when you edit it again`);
  }
  const article = items.get(open);
  article.querySelector(".editor").replaceChildren();
  article.querySelector(".record").hidden = false;
  pointAt(null);
  editor = null;
}

function askReject(event) {
  const dialog = document.getElementById("reject");
  const note = document.getElementById("reject-note");
  document.getElementById("reject-title").textContent = `Reject #${open}`;
  document.getElementById("reject-yes").textContent = `Reject${costWords(items.get(open))}`;
  note.value = "";
  note.onkeydown = (key) => { if (key.key === "Enter" && !key.shiftKey) { key.preventDefault(); dialog.querySelector("form").requestSubmit(); } };
  dialog.querySelector("form").onsubmit = (sent) => {
    sent.preventDefault();
    if (!note.value.trim()) { note.focus(); return; }
    dialog.close();
    decide("reject", { note: note.value.trim() }, sent);
  };
  event.preventDefault(); // or the key is written into the note
  dialog.showModal();
}

function skip(event) {
  const line = lineOf(open);
  line.dataset.skipped = "1";
  line.querySelector(".by").textContent = "skipped";
  items.release([open]);
  items.forget(open);
  goOn(event);
}

// The last decision of this page is taken back, or the one that the open item shows; never one that nobody saw.
async function undo() {
  if (!history_.length && hasBulk()) { await undoBulk(reviewer); return; }
  const article = open ? items.get(open) : null;
  const task = history_.pop() ?? (article?.dataset.undoable ? open : null);
  if (!task) { tell("nothing was decided on this page since it was opened: Decisions takes back what was decided before"); return; }
  await queue.idle();
  const before = lineOf(task)?.dataset.review;
  const decision = numbers.get(task) ?? Number(items.get(task)?.dataset.undoable);
  const done = await attempt(() => queue.push(task, "undo", { ...reviewer.body, ...(decision ? { decision } : {}) }));
  if (!done) return;
  numbers.delete(task); // an older one may be next
  if (before !== "unreviewed") count(1, lineOf(task));
  await reopen(task);
  tell(`the decision about #${task} is taken back`);
}

async function step(direction, event) {
  let line = findLine(lineOf(open), direction, (one) => !one.dataset.skipped && !one.dataset.held);
  if (direction > 0 && nextLines && !lineOf(open)?.nextElementSibling) { await moreLines(); line = lineOf(open)?.nextElementSibling ?? line; }
  if (line) await go(line, event);
}

const ACTS = {
  approve: (event) => decide("approve", {}, event), edit: (event) => { event.preventDefault(); openEditor(); }, reject: askReject,
  skip, undo, next: (event) => step(1, event), previous: (event) => step(-1, event),
};
const KEYS = { a: "approve", e: "edit", r: "reject", s: "skip", u: "undo", j: "next", k: "previous" };

const DECIDES = new Set(["approve", "edit", "reject", "undo"]); // what is kept with a name

// Asks who decides, takes what is looked at, and goes on; who does not say changes nothing.
async function introduce(goOnWith) {
  if (!(await reviewer.ask())) return;
  claimOwn();
  await items.hold([...items.articles.keys()].filter((task) => lineOf(task) && isFree(lineOf(task))));
  markRefused([...items.refused.keys()]);
  if (open && items.get(open)) showActs(items.get(open), lineOf(open));
  goOnWith();
}

function act(name, event) {
  const needsItem = name !== "undo" && name !== "next" && name !== "previous";
  if (needsItem && (!open || !items.get(open))) return;
  const stands = root.querySelector(`[data-act="${name}"]`);
  if (stands?.disabled) { if (needsItem && items.refused.get(open)) tell(items.refused.get(open)); return; }
  if (DECIDES.has(name) && reviewer.unknown) { event.preventDefault(); attempt(() => introduce(() => act(name, new Event(name)))); return; }
  if (editor && name !== "edit") closeEditor();
  ACTS[name](event);
}

let chord = -Infinity; // g, then a letter, goes to another page
document.addEventListener("keydown", (event) => {
  if (isTyping(event) || document.querySelector("dialog[open]")) return;
  const jumps = event.timeStamp - chord < 1000;
  chord = event.key === "g" ? event.timeStamp : -Infinity;
  if (jumps) return;
  if (event.key === "f") { event.preventDefault(); document.getElementById("filter").select(); return; }
  if (!KEYS[event.key] || (!mayDecide && !"jk".includes(event.key))) return;
  act(KEYS[event.key], event);
}, true);

root.addEventListener("click", (event) => {
  const button = event.target.closest("[data-act]");
  if (button) act(button.dataset.act, event);
  const line = event.target.closest("#lines li");
  if (line && !event.ctrlKey && !event.metaKey) { event.preventDefault(); go(line, event); }
  if (event.target.closest("#more, [data-look-further]")) attempt(lookFurther);
  if (event.target.closest("#bulk-button")) decideAll();
  if (event.target.closest("#keys-button")) document.getElementById("keys").showModal();
});
for (const close of document.querySelectorAll("dialog [data-close]")) close.addEventListener("click", () => close.closest("dialog").close());

function decideAll() {
  if (reviewer.unknown) attempt(() => introduce(() => openBulk(root, reviewer)));
  else openBulk(root, reviewer);
}

async function lookFurther() {
  await moreLines();
  if (!open) await goOn(null);
}

document.getElementById("order").addEventListener("change", (event) => event.target.form.requestSubmit());

addEventListener("popstate", () => location.reload());
addEventListener("pagehide", () => items.release([...items.held], { beacon: true }));
addEventListener("beforeunload", (event) => { if (drafts.size || editor?.changed() || (queue.length && queue.away)) event.preventDefault(); });

async function countAgain() {
  if (document.hidden) return;
  const counts = await api("GET", `/v1/runs/${root.dataset.run}/inbox/counts`).catch(() => null);
  if (!counts || queue.length) return;
  const news = counts.left - left;
  const line = document.getElementById("news");
  line.hidden = news <= 0;
  line.textContent = `${news} new`;
  if (news > 0) return; // they are shown together with their items
  left = counts.left;
  count(0);
  for (const one of root.querySelectorAll("[data-count]")) { one.dataset.number = counts.by_reason[one.dataset.count] ?? 0; addTo(one, 0); }
  const wanting = document.getElementById("wanting");
  if (wanting) { wanting.dataset.number = counts.left - (counts.by_reason.none ?? 0); addTo(wanting, 0); }
}
document.getElementById("news").addEventListener("click", () => location.reload());
setInterval(countAgain, COUNT_AGAIN);
setInterval(() => attempt(() => items.hold([...items.held])), RENEW);

async function begin() {
  const article = place.querySelector("article.item");
  if (article) { items.keep(article); open = Number(article.dataset.task); showActs(article, lineOf(open) ?? addLine(article)); }
  if (mayDecide) await reviewer.known();
  const named = new URLSearchParams(location.search).has("item");
  const [own] = claimOwn(); // held since the page before this one: the server took it for somebody else's
  const goesFirst = own && !named && (!article || own.compareDocumentPosition(lineOf(open)) & Node.DOCUMENT_POSITION_FOLLOWING);
  queue.resume((entry, error) => bringBack(entry.task, entry.move, error, false));
  if (!article && !goesFirst) { turnOff(); root.dataset.ready = "1"; return; }
  if (mayDecide && !goesFirst) await items.hold([open]);
  if (goesFirst) await go(own, null);
  else if (items.refused.has(open) && !named) { // somebody was quicker
    lineOf(open).dataset.held = "1";
    items.forget(open);
    await goOn(null);
  } else {
    showActs(article, lineOf(open));
    changeQuery({ item: open });
    pointTo(lineOf(open));
    prefetch();
    if (mayDecide && new URLSearchParams(location.search).has("edit")) act("edit", new Event("edit"));
  }
  root.dataset.ready = "1";
}

tellOfBulk(reviewer);
attempt(begin);
