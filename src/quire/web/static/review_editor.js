// The editor of a result: made from the schema of its fields; what was not touched is sent back as it came.

import { button, element } from "/static/quire.js";

const NAMED = 3; // changed fields that are named where an edit is saved
const SHOWN = 40; // characters of a value there

let made = 0; // for ids

// `item` is {data, fields: [{name, nullable, required, schema}]}. Without fields, what is there is edited by its form.
export function makeEditor(item, title) {
  const fields = item.fields.length ? item.fields : guessFields(item.data);
  const controls = fields.map((field) => {
    const value = item.data?.[field.name];
    const control = makeControl(field.schema, value, `/${escapePointer(field.name)}`, field.name, field.nullable);
    return { ...field, control, value, missing: !(item.data && field.name in item.data) };
  });
  const top = element("p", { class: "mistakes", role: "alert" });
  const form = element("form", { class: "edit-form", "aria-label": title, novalidate: true }, top, ...controls.map(({ control }) => control.node));
  form.addEventListener("keydown", pressShortcut);
  const flat = () => controls.flatMap(({ control }) => [control, ...control.inner()]);
  return {
    form,
    focus: () => form.querySelector("textarea, select, input")?.focus(),
    changed: () => controls.some(({ control }) => control.changed()),
    // The fields that were changed; a value that is no value of its type is told at its field, and null comes back.
    read() {
      clearMistakes(form, top);
      const mistakes = [];
      const changes = {};
      for (const { name, control } of controls) if (control.changed()) changes[name] = control.read(mistakes);
      if (mistakes.length) { this.show(mistakes); return null; }
      return changes;
    },
    // What `changes` make of the values that stood there, in a few words.
    words(changes) {
      const all = Object.entries(changes).map(([name, value]) => `${name} ${excerpt(item.data?.[name])} → ${excerpt(value)}`);
      return all.slice(0, NAMED).join("; ") + (all.length > NAMED ? `; and ${all.length - NAMED} more` : "");
    },
    show(mistakes) {
      clearMistakes(form, top);
      const known = flat();
      const loose = [];
      for (const { pointer, message } of mistakes) {
        const near = known.filter((one) => pointer === one.pointer || pointer.startsWith(`${one.pointer}/`));
        const control = near.sort((one, other) => other.pointer.length - one.pointer.length)[0];
        if (control) control.blame(message); else loose.push(message);
      }
      top.textContent = loose.join("; ");
      form.querySelector("[aria-invalid=true]")?.focus();
    },
  };
}

function excerpt(value) {
  const words = typeof value === "string" ? value.trim() || '""' : value === undefined ? "nothing" : JSON.stringify(value);
  const characters = [...words];
  return characters.length > SHOWN ? `${characters.slice(0, SHOWN).join("")}…` : words;
}

// Buttons that empty a field or take a part out are no stop of Tab: who types after Tab, with a space, would press them
// unseen. Keys with Alt press those of the field where one is.
const SHORTCUTS = { Digit0: ".null-switch", Minus: ".take-out" };

function pressShortcut(event) {
  const what = SHORTCUTS[event.code];
  if (!what || !event.altKey || event.ctrlKey || event.metaKey) return;
  let at = event.target;
  while (at && !at.querySelector(`:scope > ${what}, :scope > legend > ${what}`)) at = at.parentElement.closest(".edit-form li, .edit-form .edit-field");
  event.preventDefault();
  const none = what === SHORTCUTS.Digit0 && event.target.querySelector("option[value=null]");
  if (none) { event.target.value = none.value; event.target.dispatchEvent(new Event("input", { bubbles: true })); return; }
  at?.querySelector(`:scope > ${what}, :scope > legend > ${what}`).click();
}

function clearMistakes(form, top) {
  top.textContent = "";
  for (const line of form.querySelectorAll(".problem")) line.remove();
  for (const input of form.querySelectorAll("[aria-invalid]")) { input.removeAttribute("aria-invalid"); input.removeAttribute("aria-describedby"); }
}

const escapePointer = (name) => String(name).replaceAll("~", "~0").replaceAll("/", "~1");

function guessFields(data) {
  const whole = data && typeof data === "object" && !Array.isArray(data) ? data : {};
  return Object.entries(whole).map(([name, value]) => ({ name, nullable: value === null, required: true, schema: guessSchema(value) }));
}

function guessSchema(value) {
  if (typeof value === "string") return { type: "string" };
  if (typeof value === "boolean") return { type: "boolean" };
  if (typeof value === "number") return { type: "number" };
  if (Array.isArray(value) && value.every((part) => typeof part === "string")) return { type: "array", items: { type: "string" } };
  return {};
}

// One form of a schema: its types without null, its choices, whether null may stand there.
function plainForm(schema) {
  const options = schema?.anyOf ?? schema?.oneOf;
  if (options) {
    const others = options.filter((one) => one.type !== "null");
    if (others.length === 1) return { ...plainForm(others[0]), nullable: others.length < options.length };
    return { kind: "json", nullable: others.length < options.length };
  }
  const types = [schema?.type ?? []].flat();
  const nullable = types.includes("null") || Boolean(schema?.enum?.includes(null));
  const [type, ...rest] = types.filter((one) => one !== "null");
  if (schema?.enum) return { kind: "choice", choices: schema.enum, nullable };
  if (type === "boolean" && !rest.length) return { kind: "choice", choices: [true, false], nullable };
  if ((type === "integer" || type === "number") && rest.every((one) => one === "integer" || one === "number")) return { kind: "number", whole: type === "integer" && !rest.length, nullable };
  if (rest.length || !type) return { kind: "json", nullable };
  if (type === "array" && schema.items && typeof schema.items === "object") return { kind: "list", items: schema.items, nullable };
  if (type === "object" && schema.properties) return { kind: "object", properties: schema.properties, nullable };
  if (type === "string") return { kind: "text", nullable };
  return { kind: "json", nullable };
}

const MAKERS = { choice: choiceControl, number: numberControl, text: textControl, list: listControl, object: objectControl, json: jsonControl };

function makeControl(schema, value, pointer, label, nullable = false) {
  const form = plainForm(schema);
  form.nullable ||= nullable;
  return MAKERS[form.kind](form, value, pointer, label);
}

// What controls with one input share: the label, null, and the place of a mistake.
function simpleControl({ input, pointer, label, nullable, value, parse }) {
  made += 1;
  input.id = `edit-${made}`;
  const node = element("div", { class: "edit-field", "data-field": pointer.split("/")[1] }, element("label", { for: input.id }, label), input);
  let empty = value === null || value === undefined;
  let touched = false;
  let blank = null;
  let words = ""; // what stood there before it was made null
  const showEmpty = () => { input.classList.toggle("is-null", empty); if (blank) { blank.setAttribute("aria-checked", String(empty)); } };
  if (nullable) {
    blank = button("null", () => {
      empty = !empty;
      touched = true;
      if (empty) words = input.value;
      input.value = empty ? "" : words;
      showEmpty();
      input.focus();
    });
    dressSwitch(blank, label);
    if (input.tagName !== "SELECT") node.append(blank);
  }
  input.addEventListener("input", () => { touched = true; empty = false; showEmpty(); });
  showEmpty();
  return {
    node, pointer, inner: () => [], changed: () => touched,
    read(mistakes) {
      if (!touched) return value;
      if (empty && nullable) return null;
      const read = parse(input.value);
      if (read.mistake) mistakes.push({ pointer: this.pointer, message: read.mistake });
      return read.value;
    },
    blame: (message) => blame(node, input, message),
  };
}

// A switch and no button, so that Enter saves from here as from every field.
function dressSwitch(blank, label) {
  blank.className = "null-switch small";
  blank.title = `no ${label} (Alt 0)`;
  blank.tabIndex = -1;
  blank.setAttribute("aria-keyshortcuts", "Alt+0");
  blank.setAttribute("role", "switch");
  blank.setAttribute("aria-label", `null: no ${label}`);
}

function blame(node, input, message) {
  made += 1;
  const line = element("p", { class: "problem", id: `mistake-${made}` }, message);
  input.setAttribute("aria-invalid", "true");
  input.setAttribute("aria-describedby", line.id);
  node.append(line);
}

function textArea(value) {
  const rows = Math.min(12, Math.max(1, Math.ceil(value.length / 44), value.split("\n").length));
  const area = element("textarea", { rows, spellcheck: "true", dir: "auto" });
  area.value = value;
  return area;
}

function textControl({ nullable }, value, pointer, label) {
  const input = textArea(typeof value === "string" ? value : value === null || value === undefined ? "" : JSON.stringify(value));
  return simpleControl({ input, pointer, label, nullable, value, parse: (text) => ({ value: text }) });
}

function numberControl({ nullable, whole }, value, pointer, label) {
  const input = element("input", { inputmode: whole ? "numeric" : "decimal", autocomplete: "off" });
  input.value = value === null || value === undefined ? "" : String(value);
  return simpleControl({ input, pointer, label, nullable, value, parse: (text) => parseNumber(text, whole, nullable) });
}

function parseNumber(text, whole, nullable) {
  const words = text.trim();
  if (!words && nullable) return { value: null };
  const number = Number(words);
  if (!words || !Number.isFinite(number)) return { mistake: whole ? "must be a whole number" : "must be a number" };
  if (whole && !Number.isInteger(number)) return { mistake: "must be a whole number" };
  if (Number.isInteger(number) && !Number.isSafeInteger(number)) return { mistake: "is too large to be edited here; use quire edit" };
  return { value: number };
}

function choiceControl({ nullable, choices }, value, pointer, label) {
  const given = choices.filter((choice) => choice !== null);
  const input = element("select");
  const missing = value === undefined || (value !== null && !given.some((choice) => choice === value));
  if (missing) input.append(element("option", { value: "" }, value === undefined ? "–" : `${JSON.stringify(value)} (not a choice)`));
  if (nullable) input.append(element("option", { value: "null" }, "null"));
  for (const choice of given) input.append(element("option", { value: JSON.stringify(choice) }, String(choice)));
  input.value = missing ? "" : JSON.stringify(value);
  return simpleControl({ input, pointer, label, nullable, value, parse: (text) => (text ? { value: JSON.parse(text) } : { mistake: "choose one" }) });
}

// A switch beside a list or an object that makes it null as a whole; `changed` is told.
function nullSwitch(node, label, empty, changed) {
  const blank = button("null", () => { changed(blank.getAttribute("aria-checked") !== "true"); });
  const show = (is) => { blank.setAttribute("aria-checked", String(is)); node.classList.toggle("is-null", is); };
  dressSwitch(blank, label);
  node.querySelector("legend").append(" ", blank);
  show(empty);
  return show;
}

function jsonControl(form, value, pointer, label) {
  const input = textArea(value === undefined ? "null" : JSON.stringify(value, null, 2));
  input.classList.add("mono");
  input.spellcheck = false;
  const parse = (text) => { try { return { value: JSON.parse(text) }; } catch { return { mistake: "is not JSON" }; } };
  return simpleControl({ input, pointer, label: `${label} (JSON)`, nullable: false, value: value ?? null, parse });
}

function listControl({ nullable, items }, value, pointer, label) {
  const list = Array.isArray(value) ? value : [];
  const rows = element("ol", { class: "edit-list" });
  const node = element("fieldset", { class: "edit-field", "data-field": pointer.split("/")[1] }, element("legend", {}, label), rows);
  let parts = [];
  let touched = false;
  const number = () => parts.forEach((part, place) => { part.control.pointer = `${pointer}/${place}`; });
  const add = (part, focus) => {
    const control = makeControl(items, part, `${pointer}/${parts.length}`, `${label} ${parts.length + 1}`);
    const entry = { control };
    const out = button("×", () => { touched = true; parts = parts.filter((one) => one !== entry); row.remove(); number(); (rows.querySelector("textarea, select, input") ?? plus).focus(); });
    out.className = "small icon take-out";
    out.tabIndex = -1;
    out.title = "take out (Alt -)";
    out.setAttribute("aria-keyshortcuts", "Alt+-");
    out.setAttribute("aria-label", `Take ${label} ${parts.length + 1} out`);
    const row = element("li", {}, control.node, out);
    parts.push(entry);
    rows.append(row);
    if (focus) row.querySelector("textarea, select, input")?.focus();
  };
  list.forEach((part) => add(part, false));
  const plus = button("add", () => { touched = true; add(plainForm(items).kind === "text" ? "" : null, true); });
  plus.className = "small";
  plus.setAttribute("aria-label", `Add to ${label}`);
  node.append(plus);
  let empty = nullable && (value === null || value === undefined);
  const showNull = nullable ? nullSwitch(node, label, empty, (is) => { touched = true; empty = is; showNull(is); }) : () => {};
  const fill = () => { empty = false; showNull(false); };
  plus.addEventListener("click", fill);
  rows.addEventListener("input", fill);
  return {
    node, pointer,
    inner: () => parts.flatMap(({ control }) => [control, ...control.inner()]),
    changed: () => touched || parts.some(({ control }) => control.changed()),
    read(mistakes) {
      if (!this.changed()) return value;
      if (empty) return null;
      return parts.map(({ control }) => control.read(mistakes));
    },
    blame: (message) => blame(node, plus, message),
  };
}

function objectControl({ nullable, properties }, value, pointer, label) {
  const whole = value && typeof value === "object" && !Array.isArray(value) ? value : {};
  const parts = Object.entries(properties).map(([name, schema]) => [name, makeControl(schema, whole[name], `${pointer}/${escapePointer(name)}`, name)]);
  const node = element("fieldset", { class: "edit-field", "data-field": pointer.split("/")[1] }, element("legend", {}, label), ...parts.map(([, control]) => control.node));
  let empty = nullable && (value === null || value === undefined);
  let touched = false;
  const showNull = nullable ? nullSwitch(node, label, empty, (is) => { touched = true; empty = is; showNull(is); }) : () => {};
  node.addEventListener("input", () => { empty = false; showNull(false); });
  return {
    node,
    get pointer() { return this.at ?? pointer; },
    set pointer(at) { this.at = at; for (const [name, control] of parts) control.pointer = `${at}/${escapePointer(name)}`; },
    inner: () => parts.flatMap(([, control]) => [control, ...control.inner()]),
    changed: () => touched || parts.some(([, control]) => control.changed()),
    read(mistakes) {
      if (!this.changed() && value !== undefined) return value;
      if (empty) return null;
      const read = { ...whole };
      for (const [name, control] of parts) {
        const part = control.read(mistakes);
        if (part !== undefined) read[name] = part;
      }
      return read;
    },
    blame: (message) => blame(node, node.querySelector("textarea, select, input") ?? node, message),
  };
}
