// A run's page: buttons that act through the API, their keys, filters by field, and the export.
import { actKey, api, attempt, confirmOnce, refresh, tell } from "./quire.js";

// The page as it is right after an act, not as others saw it a moment ago.
function freshAddress() {
  const place = new URL(location.href);
  place.searchParams.set("fresh", "1");
  return place.href;
}

async function act(button) {
  const { act: path, ask, askWords, askYes, body } = button.dataset;
  const missing = path.endsWith("/resume") && !body && document.querySelector(`form[data-act-form="${CSS.escape(path)}"] input`);
  if (missing) { // its budget is used up: lifting the hold alone would bring it back
    missing.focus();
    tell("it goes on with more money: say here what it may spend in all");
    return;
  }
  if (ask && !(await confirmOnce(ask, askWords ?? "", askYes ?? "Yes"))) return;
  button.disabled = true;
  await attempt(async () => {
    const said = await api("POST", path, body ? JSON.parse(body) : {}, actKey());
    if (typeof said?.changed === "number") tell(`${said.changed.toLocaleString("en")} asked again`);
    await refresh(freshAddress());
  });
  button.disabled = false;
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-act]");
  if (button) act(button);
  const opener = event.target.closest("[data-open]");
  if (opener) document.getElementById(opener.dataset.open).showModal();
  const closer = event.target.closest("[data-close]");
  if (closer) document.getElementById(closer.dataset.close).close();
});

document.addEventListener("change", (event) => {
  const chosen = event.target.closest("[data-act-select]");
  if (chosen?.value) {
    attempt(async () => {
      await api("POST", chosen.dataset.actSelect, { stage: chosen.value }, actKey());
      tell(`it stops after ${chosen.value}`);
      chosen.value = "";
      chosen.blur();
      await refresh(freshAddress());
    });
  }
  if (event.target.closest("[data-export]")) showCommand();
});

// One key, one act, unless somebody types or a dialog is open.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.matches("input, select, textarea, [contenteditable]")) return;
  const button = document.querySelector(`:is(button, select)[data-key="${CSS.escape(event.key)}"]`); // rows have keys too
  if (button) { event.preventDefault(); if (button.matches("select")) button.focus(); else button.click(); return; }
  const tab = document.querySelectorAll(".tabs.line a")[Number(event.key) - 1];
  if (tab) { event.preventDefault(); tab.click(); }
});

// An amount that is typed beside its button: a number goes as one.
document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-act-form]");
  if (!form) return;
  event.preventDefault();
  const body = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, Number(value.replace(/^\$\s*/, ""))]));
  attempt(async () => {
    await api("POST", form.dataset.actForm, body, actKey());
    form.reset();
    document.activeElement?.blur();
    await refresh(freshAddress());
  });
});

// The filter by one field goes into the address as field.NAME=VALUE.
document.addEventListener("submit", (event) => {
  const form = event.target.closest("form.filters");
  if (!form) return;
  event.preventDefault();
  const asked = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value && !(name === "only" && value === "all")) asked.append(name, value);
  const field = form.querySelector("[data-field-name]").value;
  const value = form.querySelector("[data-field-value]").value;
  if (field && value) asked.append(`field.${field}`, value);
  location.href = asked.size ? `${form.action}?${asked}` : form.action;
});

function showCommand() {
  const form = document.querySelector("[data-export]");
  const line = form.querySelector("[data-export-command]");
  const run = form.action.split("/").at(-2);
  const { format, only, stage } = Object.fromEntries(new FormData(form));
  const counts = JSON.parse(form.dataset.counts);
  const counted = (counts[stage] ?? Object.values(counts)[0])[only];
  form.querySelector("[data-export-count]").textContent = `${counted.exact ? "" : "at least "}${counted.rows.toLocaleString("en")} row${counted.rows === 1 ? "" : "s"}`;
  const words = ["quire export", run, "-o", `run_${run}.${format}`];
  if (only && only !== "all") words.push("--only", only);
  if (stage) words.push("--stage", stage);
  line.textContent = words.join(" ");
}
