// A new run: documents, question, plan. What is chosen stands in the address; the plan follows every change by itself.
import { actKey, api, attempt, changeQuery, element, refresh, tell } from "/static/quire.js";
import { readFields } from "/static/plan_fields.js";
import { SchemaEditor } from "/static/schema_editor.js";
import { nameOf } from "/static/schema_files.js";
import { takeFiles } from "/static/uploads.js";

const at = (id) => document.getElementById(id);
const page = at("new-run");
const query = () => new URLSearchParams(location.search);
const mayStart = page.dataset.mayStart === "yes";
const dollars = (usd) => (usd === 0 ? "$0" : usd >= 0.1 ? `$${usd.toFixed(2)}` : usd >= 0.0001 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(8).replace(/0+$/, "")}`);
const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
const KEPT = "quire-new-schema"; // what is being written, so that a reload loses nothing
let planned = null; // the plan of what would be started now
let asked = 0; // plans asked for so far: only the last one counts

/* 1. Documents */
const boxes = () => [...document.querySelectorAll('input[name="document"]')];
const chosenDocuments = () => (document.querySelector('input[name="which"]:checked').value === "all" ? null : boxes().filter((box) => box.checked).map((box) => Number(box.value)));

function documentsChanged() {
  const chosen = chosenDocuments();
  at("choose").hidden = chosen === null;
  changeQuery({ documents: chosen?.length ? chosen.join(",") : null });
  const blocks = boxes().filter((box) => box.checked).reduce((sum, box) => sum + Number(box.dataset.blocks), 0);
  at("documents-words").textContent = chosen === null ? "" : chosen.length ? `${count(chosen.length, "document")}, ${count(blocks, "block")}` : "choose at least one";
  peek();
  planSoon();
}

async function peek() {
  const chosen = chosenDocuments();
  const first = chosen === null ? Number(boxes().at(-1)?.value ?? 0) : Math.min(...chosen, Infinity);
  if (!first || first === Infinity) { at("peek-blocks").replaceChildren(); return; }
  const found = await attempt(() => api("GET", `/v1/documents/${first}/blocks?limit=${page.dataset.peeked}`));
  const most = Number(page.dataset.shown);
  at("peek-blocks").replaceChildren(...(found?.items ?? []).map((block) => element("p", { class: "text" },
    element("span", { class: "quiet small" }, `${block.block_type.replaceAll("_", " ")} `), block.content.length > most ? `${block.content.slice(0, most)}…` : block.content)));
}

/* 2. Question */
const editor = new SchemaEditor({
  form: at("form-face"), text: at("json"), lines: at("lines"), problems: at("json-problems"), state: at("schema-state"),
  changed: (it) => { sessionStorage.setItem(KEPT, it.text.value); planSoon(); },
});

function question() {
  const [kind, name] = at("question").value.split(/:(.*)/s);
  if (kind === "new") return editor.sound ? { schema: editor.body } : null;
  return kind ? { [kind]: name } : null;
}

async function questionChanged() {
  const [kind, name] = at("question").value.split(/:(.*)/s);
  changeQuery({ schema: kind === "schema" ? name : null, recipe: kind === "recipe" ? name : null, question: kind === "new" ? "new" : null });
  at("editor").hidden = kind !== "new";
  at("tried").replaceChildren();
  at("per").disabled = kind === "recipe";
  at("parameters").hidden = true;
  at("question-words").textContent = "";
  at("model-label").textContent = "Model";
  if (kind === "schema") {
    const kept = await attempt(() => api("GET", `/v1/schemas/${encodeURIComponent(name)}`));
    if (kept) at("question-words").replaceChildren(`${count(kept.fields.length, "field")}: ${kept.fields.slice(0, 6).join(", ")}${kept.fields.length > 6 ? "…" : ""} `,
      element("button", { type: "button", class: "plain", onclick: () => change(kept.body) }, "change it"));
  }
  if (kind === "recipe") await showParameters(name);
  if (kind === "new" && !editor.text.value) editor.set(sessionStorage.getItem(KEPT) ?? JSON.parse(at("blank").textContent));
  planSoon();
}

function change(body) {
  editor.set(body);
  at("question").value = "new";
  questionChanged();
}

async function showParameters(name) {
  const recipe = await attempt(() => api("GET", `/v1/recipes/${encodeURIComponent(name)}`));
  const known = Object.values(recipe?.parameters ?? {});
  at("parameters").replaceChildren(...known.map((one) => {
    const about = { id: `parameter-${one.name}`, "data-parameter": one.name, "data-kind": one.kind, "data-needed": one.required ? "yes" : null, placeholder: one.default ?? "", oninput: planSoon };
    const input = one.choices.length ? element("select", about, element("option", { value: "" }, `${one.default ?? "choose…"}`), ...one.choices.map((choice) => element("option", {}, String(choice))))
      : element(one.prompt ? "textarea" : "input", about);
    const words = [one.name, one.required ? " (needed)" : "", one.description ? `: ${one.description}` : ""].join("");
    return element("div", { class: one.prompt ? "wide whole" : "wide" }, element("label", { for: about.id }, words), input);
  }));
  at("parameters").hidden = !known.length;
  if (recipe?.stages?.some((stage) => stage.all_models)) at("model-label").textContent = "Models, with commas between them: its stages ask each";
  const reads = recipe?.attach ? " · it reads documents only where you choose “Only these”" : "";
  at("question-words").textContent = recipe ? `${count((recipe.graph?.stages ?? recipe.stages ?? []).length, "stage")}${reads}` : "";
}

function parameters() {
  const given = [...at("parameters").querySelectorAll("[data-parameter]")].filter((input) => input.value !== "");
  if (at("parameters").hidden || !given.length) return undefined;
  return Object.fromEntries(given.map((input) => {
    let value = input.value;
    if (input.dataset.kind !== "string") try { value = JSON.parse(input.value); } catch { /* a text: the plan says what is wrong */ }
    return [input.dataset.parameter, value];
  }));
}

function showFace(name) {
  for (const face of ["form", "json"]) {
    const on = face === name;
    at(`${face}-face`).hidden = !on;
    at(`face-${face}`).setAttribute("aria-selected", String(on));
    at(`face-${face}`).tabIndex = on ? 0 : -1;
  }
  if (name === "json") editor.showLines([]); else editor.read({});
  if (name === "json" && editor.places) editor.check();
}

async function draft(event) {
  event.preventDefault();
  const wish = at("wish").value.trim(); const model = at("model").value.trim();
  if (!wish || !model) { tell(wish ? "choose a model that drafts it" : "say what you want to know", { error: true }); return; }
  at("draft-button").disabled = true;
  at("draft-words").textContent = `${model} is asked; this may take a minute…`;
  const made = await attempt(() => api("POST", "/v1/schemas/draft", { wish, model, documents: chosenDocuments() ?? undefined, max_cost_usd: Number(at("draft-button").dataset.most) }));
  at("draft-button").disabled = false;
  at("draft-words").textContent = made ? `A proposal by ${made.model} from ${count(made.blocks, "block")} · cost ${dollars(made.cost_usd)}${made.simulated ? ", simulated" : ""} · nothing is kept yet${made.problems.length ? ` · to be mended: ${made.problems.join("; ")}` : ""}` : "";
  if (made) editor.set(made.schema);
}

async function save() {
  const kept = await attempt(() => api("POST", "/v1/schemas", { body: editor.body }));
  if (!kept) return;
  sessionStorage.removeItem(KEPT);
  await ask(kept);
}

// Chooses a schema that was just kept.
async function ask(kept) {
  const ref = kept.ref;
  const known = [...at("question").options].some((option) => option.value === `schema:${ref}`);
  if (!known) at("question").querySelector("optgroup").append(element("option", { value: `schema:${ref}` }, ref));
  at("question").value = `schema:${ref}`;
  tell(`kept as ${ref}${kept.version > 1 ? `, version ${kept.version}` : ""}`);
  await questionChanged();
}

// Puts a file into the editor, whatever it holds: its mistakes are told there, and nothing is kept yet.
async function readSchemaFile(event) {
  const [file] = event.target.files;
  if (!file) return;
  const text = await file.text();
  event.target.value = "";
  let body = text;
  try { body = JSON.parse(text); if (body?.properties && !body.title) body = { title: nameOf(file), ...body }; } catch { /* told at its line */ }
  change(body);
  showFace(typeof body === "string" ? "json" : "form");
}

/* Three blocks first */
async function tryIt() {
  at("try").disabled = true;
  at("try-words").textContent = "starting…";
  const run = await attempt(() => api("POST", "/v1/runs", { ...withFunds(order()), limit: 3 }, actKey()));
  if (run) await attempt(() => showTried(run.run));
  else at("try-words").textContent = "";
  at("try").disabled = false;
}

async function showTried(run) {
  for (let turn = 0; ; turn += 1) {
    const now = await api("GET", `/v1/runs/${run}`);
    const ended = now.done + now.failed >= Math.min(3, now.blocks) || now.state !== "running" || now.holds.length;
    at("try-words").replaceChildren(`${Math.min(now.done + now.failed, 3)} of 3 · ${dollars(now.cost_usd)}${now.simulated ? ", simulated" : ""} · `, element("a", { href: `/runs/${run}` }, `run ${run}`));
    if (now.holds.length) at("try-words").append(` · held: ${now.holds[0].detail}`);
    else if (!ended && turn > 5 && now.why.length) at("try-words").append(` · ${now.why[0]}`);
    if (ended) break;
    await new Promise((resolve) => { setTimeout(resolve, 300); });
  }
  const found = await api("GET", `/v1/runs/${run}/results?limit=50`);
  const rows = found.items.filter((row) => row.data || row.error).slice(0, 3);
  at("tried").replaceChildren(...rows.map((row) => element("div", { class: "trial" },
    element("p", { class: "text" }, (row.text ?? "").slice(0, 1500)),
    row.data ? element("dl", { class: "facts" }, ...Object.entries(row.data).flatMap(([name, value]) => [element("dt", { class: "name" }, name), element("dd", { class: "text" }, value === null ? "–" : typeof value === "string" ? value : JSON.stringify(value))]))
      : element("p", { class: "problem text" }, row.error))));
}

/* 3. Plan */
function policy(variant) {
  const chosen = {};
  const { deadline } = readFields();
  if (deadline) chosen.deadline = deadline;
  if (!variant) return chosen;
  if (variant.name.startsWith("one per call")) chosen.pack_size = 1;
  chosen.route = variant.batched_requests ? "batch" : "direct";
  if (variant.batched_requests && variant.batch_from) chosen.min_batch_size = variant.batch_from;
  return chosen;
}

let variants = []; let chosenVariant = null; let madeOf = "";

const typedModels = () => at("model").value.split(",").map((name) => name.trim()).filter(Boolean);

function order() {
  const asks = question(); const models = typedModels(); const documents = chosenDocuments();
  if (!asks || !models.length || (documents && !documents.length)) return null;
  const made = { ...asks, ...(models.length > 1 ? { models } : { model: models[0] }), policy: policy(chosenVariant) };
  if (documents) made.documents = documents;
  if (at("per").value && !asks.recipe) made.per = at("per").value;
  const given = parameters();
  if (given) made.parameters = given;
  return made;
}

let soon = 0;
function planSoon() {
  clearTimeout(soon);
  asked += 1; // an answer that is still to come is about something else
  planned = null;
  showButtons();
  soon = setTimeout(plan, 300);
}

// Why nothing can be planned or started now, in words; "" when nothing is in the way.
function obstacle() {
  if (!readFields().sound) return "Mend what is marked above first.";
  const isNew = at("question").value === "new";
  if (isNew && !editor.sound) return editor.problems.childElementCount ? "The schema has a mistake: mend it first." : "The schema is being checked…";
  const empty = at("parameters").hidden ? [] : [...at("parameters").querySelectorAll("[data-needed]")].filter((input) => !input.value);
  if (order() && empty.length) return `Fill in ${empty.map((input) => input.dataset.parameter).join(" and ")}.`;
  if (order()) return "";
  const missing = [chosenDocuments()?.length === 0 && "documents", !at("question").value && "a question", !at("model").value.trim() && "a model"].filter(Boolean);
  return `Choose ${missing.join(" and ") || "a question"}.`;
}

async function plan() {
  const wanted = order();
  const mine = ++asked;
  planned = null;
  showButtons();
  if (obstacle()) { at("plan-words").textContent = obstacle(); at("plan-words").className = "quiet small"; madeOf = ""; at("variants").replaceChildren(at("variants").firstElementChild); at("plan-why").textContent = ""; return; }
  const about = JSON.stringify({ ...wanted, policy: { deadline: wanted.policy.deadline } });
  at("plan-words").textContent = "reckoning…";
  try {
    if (about !== madeOf) {
      chosenVariant = null;
      const base = await api("POST", "/v1/plans", { ...wanted, policy: policy(null) });
      if (mine !== asked) return;
      madeOf = about;
      const left = base.asked.variants; // of what was not answered before
      variants = (left.length ? left : base.variants ?? []).map((one) => ({ ...one, batch_from: base.batch_from }));
      const route = query().get("route");
      chosenVariant = variants.find((one) => one.name === (query().get("variant") ?? "")) ?? variants.find((one) => route && (route === "batch") === one.batched_requests > 0 && one.name.startsWith("packed")) ?? variants.find((one) => one.name === base.recommended) ?? null;
      showVariants(base);
    }
    const exact = await api("POST", "/v1/plans", { ...wanted, policy: policy(chosenVariant) });
    if (mine !== asked) return;
    planned = exact;
    showPlan(exact);
  } catch (error) {
    if (mine === asked) { at("plan-words").textContent = error.message; at("plan-words").className = "problem"; madeOf = ""; }
    return;
  }
  at("plan-words").className = "quiet small";
  showButtons();
}

const NS = "http://www.w3.org/2000/svg";
function bar(share, chosen) {
  const made = document.createElementNS(NS, "svg");
  for (const [key, value] of Object.entries({ class: "bar full tall", viewBox: "0 0 100 1", preserveAspectRatio: "none", "aria-hidden": "true" })) made.setAttribute(key, value);
  const part = document.createElementNS(NS, "rect");
  for (const [key, value] of Object.entries({ class: chosen ? "accent" : "flight", x: 0, y: 0, height: 1, width: Math.max(0.5, 100 * share) })) part.setAttribute(key, value);
  made.append(part);
  return made;
}

const duration = (one) => (one.seconds === null ? (one.batched_requests ? "no limit" : "at once") : one.batched_requests ? `≤ ${Math.round(one.seconds / 3600)} h` : one.seconds < 90 ? `${Math.max(1, Math.round(one.seconds))} s` : `${Math.round(one.seconds / 60)} min`);

function showVariants(base) {
  const most = Math.max(...variants.map((one) => one.cost_usd), 1e-15);
  at("variants").replaceChildren(at("variants").firstElementChild, ...variants.map((one) => {
    const on = one === chosenVariant;
    return element("label", { class: "variant" },
      element("input", { type: "radio", name: "variant", value: one.name, checked: on, onchange: () => { chosenVariant = one; changeQuery({ variant: one.name === base.recommended ? null : one.name }); showVariants(base); planSoon(); } }),
      element("span", { class: "strong" }, one.name, one.name === base.recommended ? element("span", { class: "quiet small" }, " · recommended") : null),
      bar(one.cost_usd / most, on), element("span", { class: "number" }, dollars(one.cost_usd)),
      element("span", { class: "quiet number" }, count(one.requests, "call")), element("span", { class: "quiet number" }, duration(one)));
  }));
  const why = [];
  const alone = variants.find((one) => !one.batched_requests && one.name.startsWith("one per call"))?.cost_usd;
  const taken = variants.find((one) => one.name === base.recommended)?.cost_usd;
  const saved = alone && taken !== undefined ? Math.round(1000 * (alone - taken) / alone) / 10 : 0;
  if (base.recommended && variants.length > 1) why.push(`${base.recommended} is recommended: it costs the least ${base.recommended.includes("batch") ? "of all" : "without waiting for a batch"}, ${saved} % less than one call for each ${base.per ?? "block"}`);
  if (variants.length > 1 && (base.answered.blocks || base.answered.repeated)) why.push("all ways are priced for what is left to ask");
  if (base.route?.problem) why.push(base.route.problem);
  if (base.oversized) why.push(`${count(base.oversized, "block")} cannot fit the model's window`);
  if (base.stages) why.push(base.stages.map((stage) => `${stage.stage}: ${count(stage.calls, "call")}, ${dollars(stage.cost_usd)}`).join(" · "));
  at("plan-why").textContent = why.join("; ");
  at("variants").hidden = false;
}

function showPlan(exact) {
  showAsked(exact);
  const answered = exact.answered.blocks ? ` · ${exact.answered.blocks.toLocaleString("en")} answered before, free` : "";
  const again = exact.answered.repeated;
  const repeated = again ? ` · ${count(again, "block")} more ${again === 1 ? "says" : "say"} the same as another: asked once` : "";
  at("plan-words").textContent = `${count(exact.documents, "document")}: ${count(exact.asked.tasks, exact.stages ? "task" : exact.per ?? "block")} asked in ${count(exact.asked.calls, "call")}${repeated}${answered}${exact.simulated ? " · simulated: no money is spent" : ""}`;
}

// The way that is chosen says what is really asked; where nothing is, there is nothing to choose.
function showAsked(exact) {
  at("variants").hidden = !exact.asked.tasks;
  if (!exact.asked.tasks) at("plan-why").textContent = "All of it was answered before: starting asks nothing, and costs nothing.";
  const row = document.querySelector(".variant:has(:checked)");
  if (!row || !exact.asked.tasks) return;
  // what earlier runs taught of the chosen way holds for the others, too: the bars compare one job
  const factor = chosenVariant?.cost_usd ? exact.asked.cost_usd / chosenVariant.cost_usd : 1;
  document.querySelectorAll(".variant:has(input)").forEach((other, place) => { other.querySelector(".number").textContent = dollars(variants[place].cost_usd * factor); });
  row.querySelectorAll(".number")[1].textContent = count(exact.asked.calls, "call");
}

function showButtons() {
  const ready = Boolean(order());
  if (!mayStart) return;
  at("save").disabled = !editor.sound;
  const { sound, limit, budget = Number(at("budget").dataset.usual) || Infinity } = readFields();
  at("try").disabled = !ready || !sound || at("question").value.startsWith("recipe:");
  const least = planned?.asked.least_budget_usd ?? 0;
  at("try").textContent = `Try on 3 blocks${tryCost()}`;
  at("start").disabled = !planned || !sound || budget < least;
  at("start-words").textContent = at("question").value && at("model").value.trim() ? obstacle() || moneyWords(budget, least) : "";
  const share = planned && limit && planned.asked.tasks ? Math.min(1, limit / planned.asked.tasks) : 1;
  at("start").textContent = planned && sound ? startWords(budget, share) : "Start";
  at("command").dataset.command = commandLine();
  at("command").title = commandLine();
}

// What three blocks may cost: at most as much as if each went alone, with all that is said to the model.
function tryCost() {
  const alone = variants.find((one) => one.name.startsWith("one per call"));
  if (!planned?.asked.tasks || !alone?.requests) return "";
  const cost = alone.cost_usd * Math.min(3, planned.asked.tasks) / alone.requests;
  return ` · about ${dollars(cost)}${planned.simulated ? " simulated" : ""}`;
}

// What starting may cost: a call reserves the most that it may, so no smaller sum is promised.
function startWords(budget, share) {
  const { cost_usd: cost, high_usd: high, least_budget_usd: least } = planned.asked;
  if (!planned.asked.tasks) return "Start · asks nothing, costs nothing";
  const most = Math.min(budget, Math.max(high * share, least));
  return `Start · about ${dollars(Math.min(most, cost * share))}, at most ${dollars(most)}${planned.simulated ? ", simulated" : ""}`;
}

function moneyWords(budget, least) {
  if (budget < least) return `A budget of ${dollars(budget)} covers no call: one may cost up to ${dollars(least)}, so that is the smallest budget.`;
  const wallet = at("wallet")?.value;
  return wallet && planned?.simulated ? `The model is simulated, but wallet ${wallet} is charged as if it were not. Leave the wallet out to keep its money.` : "";
}

function commandLine() {
  const [kind, name] = at("question").value.split(/:(.*)/s);
  const wanted = policy(chosenVariant);
  const parts = ["quire run", kind === "recipe" ? `--recipe ${name}` : `--schema ${kind === "schema" ? name : editor.body?.title ?? "FILE"}`, typedModels().length > 1 ? `--models ${typedModels().join(",")}` : `--model ${typedModels()[0] ?? "MODEL"}`];
  for (const number of chosenDocuments() ?? []) parts.push(`--document ${number}`);
  if (wanted.route) parts.push(`--route ${wanted.route}`);
  if (wanted.pack_size) parts.push(`--pack-size ${wanted.pack_size}`);
  if (wanted.min_batch_size) parts.push(`--min-batch-size ${wanted.min_batch_size}`);
  if (wanted.deadline) parts.push(`--deadline ${wanted.deadline}`);
  if (at("per").value && kind !== "recipe") parts.push(`--per ${at("per").value}`);
  const { budget, limit } = readFields();
  if (budget) parts.push(`--budget ${budget}`);
  if (at("wallet")?.value) parts.push(`--wallet ${at("wallet").value}`);
  if (limit) parts.push(`--limit ${limit}`);
  return parts.join(" ");
}

// The order, spending no more than was typed and chosen.
function withFunds(wanted) {
  const { budget } = readFields();
  return { ...wanted, budget_usd: budget, wallet: at("wallet")?.value || undefined };
}

const startKey = actKey();
async function start() {
  const wanted = order();
  const { sound, limit } = readFields();
  if (!wanted || !sound) return;
  at("start").disabled = true;
  at("start-words").textContent = "starting…";
  if (limit) wanted.limit = limit;
  const run = await attempt(() => api("POST", "/v1/runs", withFunds(wanted), startKey));
  at("start-words").textContent = "";
  at("start").disabled = false;
  if (run) { sessionStorage.removeItem(KEPT); location.assign(`/runs/${run.run}`); }
}

/* What the address says, then every change of it */
function restore() {
  const given = query();
  const select = at("question");
  const wanted = given.get("schema") ? `schema:${given.get("schema")}` : given.get("recipe") ? `recipe:${given.get("recipe")}` : given.get("question") === "new" ? "new" : "";
  if (wanted.startsWith("schema:") && ![...select.options].some((option) => option.value === wanted)) select.querySelector("optgroup").append(element("option", { value: wanted }, given.get("schema")));
  select.value = wanted;
  for (const name of ["model", "budget", "wallet", "deadline", "per", "limit"]) if (given.get(name) && at(name)) at(name).value = given.get(name);
}

document.querySelectorAll('input[name="which"], input[name="document"]').forEach((box) => box.addEventListener("change", documentsChanged));
at("question").addEventListener("change", questionChanged);
for (const name of ["model", "budget", "wallet", "deadline", "per", "limit"]) {
  at(name)?.addEventListener("input", () => { changeQuery({ [name]: at(name).value.trim() }); showButtons(); if (!planned || !["budget", "wallet", "limit"].includes(name)) planSoon(); });
}
at("use-simulated")?.addEventListener("click", () => { at("model").value = "simulated/small"; at("model").dispatchEvent(new Event("input")); });
at("face-form").addEventListener("click", () => showFace("form"));
at("face-json").addEventListener("click", () => showFace("json"));
for (const face of ["face-form", "face-json"]) at(face).addEventListener("keydown", (event) => { if (event.key.startsWith("Arrow")) { const other = face === "face-form" ? "face-json" : "face-form"; at(other).click(); at(other).focus(); } });
at("draft")?.addEventListener("submit", draft);
at("save")?.addEventListener("click", save);
at("schema-file")?.addEventListener("change", readSchemaFile);
at("try")?.addEventListener("click", tryIt);
at("start")?.addEventListener("click", start);
if (at("drop")) takeFiles({
  keep: (kept) => ask(kept.at(-1)),
  drop: at("drop"), inputs: [at("files"), at("folder")], bar: at("upload-progress"), words: at("upload-words"), box: at("upload"), refused: at("refused"),
  done: (result) => {
    for (const one of result.documents) {
      if (boxes().some((box) => Number(box.value) === one.id)) continue;
      const box = element("input", { type: "checkbox", name: "document", value: one.id, "data-blocks": one.blocks, checked: true, onchange: documentsChanged });
      at("choose").querySelector("p")?.remove();
      at("choose").prepend(element("label", { class: "check" }, box, " ", element("span", { class: "name" }, one.title), " ", element("span", { class: "quiet small" }, count(one.blocks, "block"))));
    }
    if (result.documents.length) at("peek").open = true;
    if (result.documents.length) document.querySelector('input[name="which"][value="some"]').checked = true;
    madeOf = "";
    documentsChanged();
    refresh();
  },
});
restore();
documentsChanged();
questionChanged();
