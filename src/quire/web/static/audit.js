// Audit: a field is marked by a key, the next item is here before it is wanted, and the rates follow.

import { ApiError, api, attempt, changeQuery, isTyping, tell } from "/static/quire.js";
import { AuditDrafts } from "/static/audit_drafts.js";
import { Reviewer } from "/static/reviewer.js";

const start = document.getElementById("start-audit");
const root = document.getElementById("audit");
if (start) startForm(start);
if (root) openAudit(root);

function whatItShows(size, most) {
  if (!(size > 0 && most > 0)) return "";
  if (size >= most) return "These are all: what you find is how they are, and nothing is estimated.";
  const shown = 100 * (1 - 0.025 ** (1 / size));
  return `If you find no error in ${size.toLocaleString("en")}, you can say, and be 95 % sure, that at most ${shown.toPrecision(2)} % are wrong.`;
}

function startForm(form) {
  const reviewer = new Reviewer(form);
  const field = (name) => form.elements.namedItem(name);
  const command = form.querySelector("[data-command]");
  // What a sample of this size can show, where nothing in it is wrong.
  const explain = () => {
    const size = Number(field("size").value);
    const most = Number(field("stage").selectedOptions[0].dataset.count);
    field("size").max = Math.max(1, most);
    document.getElementById("of").textContent = `of ${most.toLocaleString("en")}`;
    document.getElementById("shows").textContent = whatItShows(size, most);
    command.dataset.command = command.title = `quire audit ${form.dataset.run} --sample ${field("size").value} --tolerance ${Number(field("tolerance").value) / 100} --stage ${field("stage").value}`;
  };
  field("stage").addEventListener("change", () => { field("size").value = Math.min(200, Number(field("stage").selectedOptions[0].dataset.count)) || 1; });
  for (const kind of ["input", "change"]) form.addEventListener(kind, explain);
  explain();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const given = new FormData(form);
    if (!(await reviewer.known())) return;
    const body = { ...reviewer.body, size: Number(given.get("size")), tolerance: Number(given.get("tolerance")) / 100, stage: given.get("stage"), seed: Number(given.get("seed")) };
    const head = await attempt(() => api("POST", `/v1/runs/${form.dataset.run}/audits`, body));
    if (head) location.assign(`/audits/${head.id}`);
  });
}

async function fetchPart(path, wanted) {
  const response = await fetch(path, { headers: { Accept: "text/html" } });
  if (!response.ok) throw new ApiError(response.status, await response.json().catch(() => null));
  const box = document.createElement("template");
  box.innerHTML = await response.text(); // made by our own templates, which escape every value
  return document.adoptNode(box.content.querySelector(wanted));
}

function openAudit(root) {
  const reviewer = new Reviewer(root);
  const place = document.getElementById("place");
  const audit = root.dataset.audit;
  const size = Number(root.dataset.size);
  const articles = new Map();
  const drafts = new AuditDrafts(audit);
  let sending = Promise.resolve();
  let waiting = 0;
  let current = 0; // field
  let changed = false; // marks of the open item that were not sent

  const article = () => place?.querySelector("article.item");
  const fields = () => [...(article()?.querySelectorAll(".audit-field") ?? [])];
  const markOf = (field) => field.querySelector("input:checked")?.dataset.mark;

  const marksHere = () => Object.fromEntries(fields().map((field) => [field.dataset.field, markOf(field)]).filter(([, mark]) => mark));

  // Marks can be given where an item is open.
  function lightMarks() {
    for (const button of root.querySelectorAll("[data-act]")) if (MARKS.has(button.dataset.act)) button.disabled = !article();
  }

  // Shows what was marked here before the page was closed, and not sent.
  function restore() {
    const kept = drafts.marks(article().dataset.no);
    for (const field of fields()) {
      const choice = kept[field.dataset.field] && field.querySelector(`[data-mark="${CSS.escape(kept[field.dataset.field])}"]`);
      if (choice) { choice.checked = true; changed = true; }
    }
  }

  function point(at) {
    current = Math.max(0, Math.min(at, fields().length - 1));
    fields().forEach((field, index) => field.toggleAttribute("data-current", index === current));
    const field = fields()[current];
    field?.scrollIntoView({ block: "nearest" });
    for (const mark of place.querySelectorAll("mark")) mark.classList.toggle("pointed", mark.dataset.field === field?.dataset.field);
  }

  function prepare(no) {
    if (no < 0 || no >= size || articles.has(no)) return articles.get(no);
    const coming = fetchPart(`/audits/${audit}/items/${no}`, "article");
    articles.set(no, coming);
    coming.catch(() => articles.delete(no));
    return coming;
  }

  async function go(no, event) {
    if (no < 0 || no >= size) { showEnd(); return; }
    const next = await attempt(() => prepare(no));
    if (!next) return;
    changed = false;
    place.replaceChildren(next);
    lightMarks();
    restore();
    point(fields().findIndex((field) => !markOf(field)));
    next.focus({ preventScroll: true });
    changeQuery({ no });
    if (event) requestAnimationFrame(() => setTimeout(() => performance.measure("next item", { start: event.timeStamp, end: performance.now() })));
    prepare(no + 1);
    prepare(no + 2);
  }

  // The next item that nobody marked: after this one, or from the beginning.
  async function goOn(event) {
    const no = Number(article().dataset.no);
    const known = await prepare(no + 1)?.catch(() => null);
    if (known && ![...known.querySelectorAll("input:checked")].length) { await go(no + 1, event); return; }
    await sending;
    const { item } = await api("GET", `/v1/audits/${audit}/next`);
    if (item) await go(item.no, event);
    else showEnd();
  }

  function showEnd() {
    const box = Object.assign(document.createElement("div"), { className: "empty", id: "nothing" });
    const again = Object.assign(document.createElement("a"), { href: "?no=0", textContent: "Look at them again" });
    const words = Object.assign(document.createElement("p"), { textContent: `All ${size.toLocaleString("en")} are marked. ` });
    words.append(again, ".");
    box.append(words);
    place.replaceChildren(box);
    lightMarks();
    changeQuery({ no: null });
  }

  function showSaving() { document.getElementById("saving").textContent = waiting ? `saving ${waiting}` : ""; }

  // Sends the marks of the open item behind the person's back, in order; what is refused comes back.
  function send() {
    const no = Number(article().dataset.no);
    const marks = marksHere();
    changed = false;
    article().dataset.again = "1";
    drafts.keep(no, marks, true);
    post(no, marks);
  }

  function post(no, marks) {
    waiting += 1;
    showSaving();
    sending = sending.then(() => deliver(no, marks)).finally(() => { waiting -= 1; showSaving(); });
  }

  async function deliver(no, marks) {
    for (let wait = 500; ; wait = Math.min(wait * 2, 8000)) {
      try {
        const report = await api("POST", `/v1/audits/${audit}/marks`, { ...reviewer.body, no, marks });
        drafts.drop(no);
        document.getElementById("marked").textContent = report.head.marked.toLocaleString("en");
        document.getElementById("progress").value = report.head.marked;
        if (waiting === 1) document.getElementById("report").replaceWith(await fetchPart(`/audits/${audit}/report`, "#report"));
        return;
      } catch (error) {
        if (error.status && error.status < 500) { drafts.drop(no); tell(`item ${no + 1} is not marked: ${error.message}`, { error: true }); articles.delete(no); await go(no); return; }
        document.getElementById("saving").textContent = "not saved yet: the server does not answer, it is tried again";
        await new Promise((again) => setTimeout(again, wait));
      }
    }
  }

  function mark(kind, event) {
    const field = fields()[current];
    if (!field) return;
    field.querySelector(`[data-mark="${kind}"]`).checked = true;
    changed = true;
    drafts.keep(Number(article().dataset.no), marksHere());
    const open = fields().findIndex((one) => !markOf(one));
    if (open >= 0) point(open);
    else if (article().dataset.again && current < fields().length - 1) point(current + 1);
    else finish(event);
  }

  async function markByHand(choice, event) {
    if (!(await reviewer.known())) choice.checked = false;
    else mark(choice.dataset.mark, event);
  }

  function finish(event) { send(); attempt(() => goOn(event)); }

  // Whoever goes to another item by hand leaves this one marked, where all its fields are.
  function leave(no, event) {
    if (changed && fields().every(markOf)) send();
    go(no, event);
  }

  function all(event) {
    for (const field of fields()) if (!markOf(field)) field.querySelector('[data-mark="right"]').checked = true;
    finish(event);
  }

  const ACTS = {
    right: (event) => mark("right", event), wrong: (event) => mark("wrong", event), unsure: (event) => mark("unsure", event), all,
    next: (event) => leave(Math.min(size - 1, Number(article()?.dataset.no ?? -1) + 1), event),
    previous: (event) => leave(Math.max(0, Number(article()?.dataset.no ?? size) - 1), event),
    down: () => point(current + 1), up: () => point(current - 1),
  };
  const MARKS = new Set(["right", "wrong", "unsure", "all"]); // what is kept with a name
  const KEYS = { 1: "right", 2: "wrong", 3: "unsure", a: "all", j: "next", k: "previous", ArrowDown: "down", ArrowUp: "up" };

  function act(name, event) {
    if (!article() && name !== "next" && name !== "previous") return;
    event.preventDefault();
    if (MARKS.has(name) && reviewer.unknown) attempt(async () => { if (await reviewer.ask()) ACTS[name](new Event(name)); });
    else ACTS[name](event);
  }

  if (!place) return;
  document.addEventListener("keydown", (event) => {
    const radio = event.target.matches?.("input[type=radio]");
    if ((isTyping(event) && !radio) || document.querySelector("dialog[open]") || !KEYS[event.key]) return;
    if (radio && event.key.startsWith("Arrow")) return;
    act(KEYS[event.key], event);
  }, true);
  root.addEventListener("click", (event) => {
    const button = event.target.closest("[data-act]");
    if (button) act(button.dataset.act, event);
    if (event.target.closest("#keys-button")) document.getElementById("keys").showModal();
  });
  root.addEventListener("change", (event) => {
    const field = event.target.closest(".audit-field");
    if (!field) return;
    current = fields().indexOf(field);
    attempt(() => markByHand(event.target, event));
  });

  (async () => {
    await reviewer.known();
    for (const { no, marks } of drafts.unsent()) if (!reviewer.unknown) post(no, marks);
    const first = article();
    lightMarks();
    if (first) {
      restore();
      articles.set(Number(first.dataset.no), Promise.resolve(first));
      point(Math.max(0, fields().findIndex((field) => !markOf(field))));
      prepare(Number(first.dataset.no) + 1);
    }
    root.dataset.ready = "1";
  })();
}
