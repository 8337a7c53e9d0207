// One decision about all that a filter takes: the number, five random ones, then the word.

import { actKey, api, attempt, element, tell } from "/static/quire.js";

const PAUSE = 200; // milliseconds after the last letter of a filter
let seed = 0;
let simulated = ""; // the word behind money that is none
let preview = null; // of the filter that stands in the field; null while it is counted
let asked = 0; // looks, of which only the last one counts
let soon = 0;

export function openBulk(root, reviewer) {
  const dialog = document.getElementById("bulk");
  const filter = document.getElementById("bulk-filter");
  const run = root.dataset.run;
  filter.value = root.dataset.filter;
  simulated = root.dataset.simulated ? " simulated" : "";
  filter.oninput = () => { wait(); clearTimeout(soon); soon = setTimeout(() => look(run), PAUSE); };
  document.getElementById("bulk-others").onclick = () => { seed += 1; look(run); };
  document.getElementById("bulk-approve").onclick = () => decide(run, reviewer, "approve");
  document.getElementById("bulk-reject").onclick = () => decide(run, reviewer, "reject");
  dialog.showModal();
  look(run);
}

const buttons = () => [document.getElementById("bulk-approve"), document.getElementById("bulk-reject"), document.getElementById("bulk-others")];

// Until it is known what a filter takes, nothing can be decided about it, and no number is said.
function wait() {
  const words = document.getElementById("bulk-count");
  preview = null;
  asked += 1;
  words.className = "quiet";
  words.textContent = "counting …";
  const [approve, reject] = buttons();
  approve.textContent = "Approve";
  reject.textContent = "Reject";
  for (const one of buttons()) one.disabled = true;
}

async function look(run) {
  clearTimeout(soon);
  wait();
  const words = document.getElementById("bulk-count");
  const sample = document.getElementById("bulk-sample");
  const field = document.getElementById("bulk-filter");
  const filter = field.value;
  const mine = asked;
  try {
    const found = await api("GET", `/v1/runs/${run}/bulk?${new URLSearchParams({ filter, seed })}`);
    if (mine !== asked) return;
    preview = { ...found, filter };
    field.removeAttribute("aria-invalid");
    words.className = "";
  } catch (error) {
    if (mine !== asked) return;
    field.setAttribute("aria-invalid", "true");
    sample.replaceChildren();
    words.className = "problem";
    words.textContent = error.message;
    return;
  }
  const { count, reject_cost: cost } = preview;
  const amount = count.toLocaleString("en");
  const left = preview.again ? ` ${preview.again === 1 ? "1 more was rejected and has come again: it is left out, look at it by itself (again=yes) or take it in" : `${preview.again.toLocaleString("en")} more were rejected and have come again: they are left out, look at them one by one (again=yes) or take them in`} (again=any).` : "";
  words.textContent = (count ? `${count === 1 ? "1 result" : `${amount} results`}.${left} ${count > 5 ? "Five of them, drawn at random:" : ""}` : `No result fits this filter.${left}`).trim();
  sample.replaceChildren(...preview.sample.map(sampleLine));
  const [approve, reject, others] = buttons();
  approve.textContent = `Approve ${amount}`;
  reject.textContent = `Reject ${amount}${!count || cost.cost_usd === null ? "" : ` · asks again for about ${dollars(cost.cost_usd)}${simulated}`}`;
  approve.disabled = reject.disabled = !count;
  others.hidden = count <= 5;
  others.disabled = false;
}

const dollars = (usd) => (usd >= 0.1 ? `$${usd.toFixed(2)}` : usd >= 0.0001 ? `$${usd.toFixed(4)}` : `$${usd.toPrecision(2)}`);

function sampleLine(line) {
  const data = line.data && typeof line.data === "object" ? Object.entries(line.data) : [["answer", line.data]];
  const values = element("dl", { class: "inner" }, ...data.slice(0, 8).map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", { dir: "auto" }, short(value)))));
  return element("li", {}, element("p", { class: "quiet small", dir: "auto" }, `#${line.task_id} · ${line.excerpt || line.title}`), values);
}

const short = (value) => {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
};

async function decide(run, reviewer, move) {
  if (!preview) return;
  const { filter } = preview;
  const note = document.getElementById("bulk-note");
  if (move === "reject" && !note.value.trim()) { tell("say what is wrong with them: the model is told so when it is asked again"); note.focus(); return; }
  for (const one of buttons()) one.disabled = true;
  document.getElementById("bulk-count").textContent = `deciding about ${preview.count.toLocaleString("en")} …`;
  const body = { ...reviewer.body, move, filter, note: note.value.trim() };
  const done = await attempt(() => api("POST", `/v1/runs/${run}/bulk`, body, actKey()));
  if (!done) { await look(run); return; }
  const skipped = done.skipped ? `, ${done.skipped.toLocaleString("en")} left: others are at them, or they changed` : "";
  leave(`${done.decided.toLocaleString("en")} ${move === "approve" ? "approved" : "rejected"}${skipped}`, done.decided ? { run, decision: done.decision } : null);
  const place = new URL(location.href);
  place.searchParams.delete("item");
  if (done.skipped) place.searchParams.set("filter", filter);
  else place.searchParams.delete("filter"); // nothing that it takes is left
  location.assign(place);
}

// What is told when the page is there again, and the decision that can be taken back then.
const leave = (words, made) => sessionStorage.setItem("bulk decided", JSON.stringify({ words, made }));

const said = JSON.parse(sessionStorage.getItem("bulk decided") ?? "null");
sessionStorage.removeItem("bulk decided");
let made = said?.made ?? null; // the bulk that was decided last, as long as it is not taken back

export const hasBulk = () => made !== null;

export function tellOfBulk(reviewer) {
  if (!said) return;
  const decisions = element("a", { href: location.pathname.replace(/review$/, "decisions") }, "Decisions");
  if (made) tell(element("span", {}, `${said.words}; each can be taken back under `, decisions), { undo: () => undoBulk(reviewer) });
  else tell(said.words);
}

// Takes back all that was decided at once, as far as nobody has decided about it since.
export async function undoBulk(reviewer) {
  if (!made) return;
  const { run, decision } = made;
  made = null;
  const body = { ...reviewer.body, decision };
  const done = await attempt(() => api("POST", `/v1/runs/${run}/bulk/undo`, body, actKey()));
  if (!done) return;
  const kept = done.skipped ? `, ${done.skipped.toLocaleString("en")} stay: somebody is at them or has decided since` : "";
  leave(`${done.decided.toLocaleString("en")} taken back${kept}`, null);
  location.reload();
}
