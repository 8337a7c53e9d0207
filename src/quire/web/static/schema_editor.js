// The schema editor: a form and the JSON, two faces of one text. The form is made from the text, and what is done in the form
// is written into the text at once; while the text is no JSON, the form says so and waits. So they cannot disagree.
import { api, element, tell } from "/static/quire.js";
import { lineOf, readLines } from "/static/json_lines.js";

const KINDS = { text: "text", number: "number", integer: "whole number", yes_no: "yes or no", date: "date", choice: "choice", list: "list of texts", other: "other: in JSON" };
const MAKE = {
  text: { type: "string" }, number: { type: "number" }, integer: { type: "integer" }, yes_no: { type: "boolean" },
  date: { type: "string", format: "date" }, choice: { type: "string", enum: ["yes", "no"] }, list: { type: "array", items: { type: "string" } },
};
const MADE_BY_FORM = ["type", "format", "enum", "items"];

const types = (field) => [field.type].flat().filter((one) => one && one !== "null");
const isNullable = (field) => [field.type].flat().includes("null");

function kindOf(field) {
  const [type, ...more] = types(field);
  if (more.length || !type) return "other";
  const plain = Object.keys(field).filter((key) => MADE_BY_FORM.includes(key)).sort().join();
  if (type === "string" && Array.isArray(field.enum) && field.enum.every((one) => one === null || typeof one === "string")) return "choice";
  if (type === "string" && field.format === "date") return "date";
  if (type === "string" && plain === "type") return "text";
  if (type === "array" && JSON.stringify(field.items) === '{"type":"string"}') return "list";
  return { number: "number", integer: "integer", boolean: "yes_no" }[plain === "type" ? type : ""] ?? "other";
}

export class SchemaEditor {
  constructor({ form, text, lines, problems, state, changed }) {
    Object.assign(this, { form, text, gutter: lines, problems, state, changed });
    this.sound = false; // the server found nothing wrong with this very text
    this.body = null;
    text.addEventListener("input", () => this.read({ byHand: true }));
    this.wrapped = text.parentElement.querySelector(".wrapped"); // the same text, to measure where its lines wrap
    new ResizeObserver(() => this.showLines(this.wrong ?? [])).observe(text);
    text.addEventListener("scroll", () => { lines.scrollTop = text.scrollTop; });
  }

  set(body) {
    this.text.value = typeof body === "string" ? body : JSON.stringify(body, null, 2);
    this.read({});
  }

  // Takes over what the text says.
  read({ fromForm = false }) {
    const { value, lines, problem } = readLines(this.text.value);
    this.places = lines;
    this.body = problem ? null : value;
    this.sound = false;
    this.broken = Boolean(problem);
    clearTimeout(this.soon); // a check of what stood here before would put its words over these
    this.showLines(problem ? [problem.line] : []);
    if (!fromForm) this.showForm(problem);
    if (problem) { this.showProblems([problem]); this.changed(this); return; }
    this.state.textContent = "checking…";
    this.soon = setTimeout(() => this.check(), 250);
    this.changed(this);
  }

  async check() {
    if (this.broken) return; // what is no JSON is told at its line, which the server does not know
    const asked = this.text.value;
    let answer;
    try { answer = await api("POST", "/v1/schemas/check", { body: asked }); } catch (error) { this.state.textContent = error.message; return; }
    if (asked !== this.text.value) return; // somebody wrote on meanwhile: that is checked next
    this.showProblems(answer.mistakes.map(({ pointer, message }) => ({ line: lineOf(this.places, pointer), pointer, message })));
    this.sound = answer.mistakes.length === 0;
    this.changed(this);
  }

  showProblems(found) {
    this.state.textContent = found.length ? `${found.length} mistake${found.length === 1 ? "" : "s"}` : "✓ fine";
    this.state.className = found.length ? "small problem" : "small quiet";
    this.showLines(found.map((one) => one.line));
    this.problems.replaceChildren(...found.map(({ line, pointer, message }) => element("li", { class: "problem" },
      element("button", { type: "button", class: "plain", onclick: () => this.goTo(line) }, `line ${line}`), ` ${pointer ? `${pointer}: ` : ""}${message}`)));
  }

  showLines(wrong) {
    this.wrong = wrong;
    const rows = this.measureRows();
    this.gutter.replaceChildren(...rows.map((count, place) =>
      element("span", { class: wrong.includes(place + 1) ? "wrong" : "" }, `${place + 1}${"\n".repeat(count)}`)));
    this.gutter.scrollTop = this.text.scrollTop;
  }

  // How many rows each line takes on the screen.
  measureRows() {
    const lines = this.text.value.split("\n");
    this.wrapped.style.width = `${this.text.clientWidth}px`;
    const made = lines.map((line) => element("div", {}, line));
    this.wrapped.replaceChildren(...made);
    const height = parseFloat(getComputedStyle(this.text).lineHeight);
    const rows = made.map((line) => Math.max(1, Math.round(line.getBoundingClientRect().height / height)));
    this.wrapped.replaceChildren();
    return rows;
  }

  goTo(line) {
    document.getElementById("face-json").click();
    const before = this.text.value.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    this.text.focus();
    this.text.setSelectionRange(before, before + this.text.value.split("\n")[line - 1].length);
  }

  // Writes what the form says into the text.
  write() {
    this.text.value = JSON.stringify(this.body, null, 2);
    this.read({ fromForm: true });
  }

  get fields() {
    const properties = this.body?.properties;
    return properties && typeof properties === "object" && !Array.isArray(properties) ? properties : {};
  }

  showForm(problem) {
    if (problem || !this.body || typeof this.body !== "object" || Array.isArray(this.body)) {
      const where = problem ? ` at line ${problem.line}: ${problem.message}` : ": a schema is an object";
      this.form.replaceChildren(element("p", { class: "problem" }, `The JSON has a mistake${where}. Mend it there first.`));
      return;
    }
    const change = (act) => (event) => { act(event.target.value); this.write(); };
    const instructions = this.body.prompt_config?.system_instructions ?? "";
    this.form.replaceChildren(
      element("div", { class: "form" },
        element("div", {}, element("label", { for: "schema-title" }, "Title"), this.input("schema-title", this.body.title ?? "", change((value) => { this.body.title = value; }))),
        element("div", { class: "wide" }, element("label", { for: "schema-instructions" }, "Instructions to the model"),
          this.input("schema-instructions", instructions, change((value) => this.setInstructions(value))))),
      element("div", { class: "scroll fields" }, element("table", {},
        element("thead", {}, element("tr", {}, ...["field", "type", "description, and choices", "required", "or null", ""].map((name) => element("th", {}, name || element("span", { class: "hidden-label" }, "remove"))))),
        element("tbody", {}, ...Object.keys(this.fields).map((name, place) => this.row(name, place))))),
      element("button", { type: "button", class: "small", onclick: () => this.add() }, "Add a field"));
  }

  input(id, value, act, label, when = "oninput") {
    const made = element("input", { id, [when]: act, "aria-label": label, spellcheck: "false" });
    made.value = value;
    return made;
  }

  row(name, place) {
    const field = this.fields[name];
    const kind = field && typeof field === "object" ? kindOf(field) : "other";
    let current = name;
    const type = element("select", { "aria-label": `Type of ${name}`, onchange: (event) => { this.retype(current, event.target.value); this.showForm(); this.write(); } },
      ...Object.entries(KINDS).map(([key, words]) => element("option", { value: key, selected: key === kind, disabled: key === "other" && kind !== "other" }, words)));
    const description = this.input(`description-${place}`, field?.description ?? "", (event) => { this.fields[current].description = event.target.value; this.write(); }, `Description of ${name}`);
    const choices = kind === "choice" && this.input(`choices-${place}`, field.enum.filter((one) => one !== null).join(", "), (event) => this.setChoices(current, event.target.value), `Choices of ${name}, with commas between`);
    if (choices) choices.placeholder = "choices, with commas between";
    const box = (label, checked, act) => element("input", { type: "checkbox", "aria-label": label, checked, onchange: (event) => { act(event.target.checked); this.write(); } });
    const rename = (event) => {
      const next = event.target.value.trim();
      if (this.rename(current, next)) { current = next; return; }
      tell(next ? `there is a field ${next} already` : "a field needs a name", { error: true });
      event.target.value = current;
    };
    return element("tr", {},
      element("td", {}, this.input(`name-${place}`, name, rename, `Name of field ${place + 1}`, "onchange")),
      element("td", {}, type),
      element("td", {}, description, choices),
      element("td", {}, box(`${name} is required`, (this.body.required ?? []).includes(name), (on) => this.require(current, on))),
      element("td", {}, box(`${name} may be null`, isNullable(field ?? {}), (on) => this.setNullable(current, on))),
      element("td", {}, element("button", { type: "button", class: "small", "aria-label": `Remove ${name}`, onclick: () => this.remove(current) }, "✕")));
  }

  setInstructions(value) {
    const config = { ...this.body.prompt_config, system_instructions: value };
    if (!value) delete config.system_instructions;
    if (Object.keys(config).length) this.body.prompt_config = config; else delete this.body.prompt_config;
  }

  rename(old, next) {
    if (!next || (next !== old && Object.hasOwn(this.fields, next))) return false;
    this.body.properties = Object.fromEntries(Object.entries(this.fields).map(([name, field]) => [name === old ? next : name, field]));
    if (this.body.required) this.body.required = this.body.required.map((name) => (name === old ? next : name));
    this.write();
    return true;
  }

  retype(name, kind) {
    const kept = Object.fromEntries(Object.entries(this.fields[name]).filter(([key]) => key === "description"));
    const nullable = isNullable(this.fields[name]);
    this.fields[name] = { ...structuredClone(MAKE[kind]), ...kept };
    if (nullable) this.setNullable(name, true);
  }

  setChoices(name, text) {
    const nullable = isNullable(this.fields[name]);
    this.fields[name].enum = [...new Set(text.split(",").map((one) => one.trim()).filter(Boolean)), ...(nullable ? [null] : [])];
    this.write();
  }

  setNullable(name, on) {
    const field = this.fields[name];
    const kinds = types(field);
    field.type = on ? [...kinds, "null"] : kinds.length === 1 ? kinds[0] : kinds;
    if (Array.isArray(field.enum)) field.enum = [...field.enum.filter((one) => one !== null), ...(on ? [null] : [])];
  }

  require(name, on) {
    const others = (this.body.required ?? []).filter((one) => one !== name);
    this.body.required = on ? Object.keys(this.fields).filter((one) => one === name || others.includes(one)) : others;
  }

  remove(name) {
    this.body.properties = Object.fromEntries(Object.entries(this.fields).filter(([one]) => one !== name));
    this.require(name, false);
    this.showForm();
    this.write();
  }

  add() {
    let number = Object.keys(this.fields).length + 1;
    while (Object.hasOwn(this.fields, `field_${number}`)) number += 1;
    const name = `field_${number}`;
    this.body.properties = { ...this.fields, [name]: { type: "string", description: "" } };
    this.require(name, true);
    this.showForm();
    this.write();
    this.form.querySelector(`#name-${Object.keys(this.fields).length - 1}`)?.select();
  }
}
