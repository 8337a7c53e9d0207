// Forms that act through the API: what is filled in goes as JSON, and the page is shown anew.
import { actKey, api, attempt, button, confirmOnce, element, refresh, tell } from "./quire.js";

// What is shown this once, beside the form that made it, until it is closed.
function showOnce(form, secret) {
  const id = `once-${form.dataset.show}`;
  const field = element("input", { id, size: 60, readonly: true, value: secret, spellcheck: "false" });
  const box = element("div", { class: "panel", "data-once": true },
    element("label", { for: id }, `The new ${form.dataset.show}: shown this once, keep it now`), field,
    element("div", { class: "row" }, button("Copy", () => copy(field)), button("Close", () => box.remove())));
  form.after(box);
  field.select();
}

function copy(field) {
  field.select();
  if (navigator.clipboard) navigator.clipboard.writeText(field.value).then(() => tell("copied"), () => tell("press Ctrl C to copy it"));
  else tell(document.execCommand("copy") ? "copied" : "press Ctrl C to copy it"); // a page without https has no clipboard
}

// Shows what has changed; a secret that is still open stays.
async function showAnew() {
  if (document.querySelector("[data-once]")) await refresh();
  else location.reload();
}

document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-send]");
  if (!form) return;
  event.preventDefault();
  const body = Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ""));
  for (const name of (form.dataset.numbers ?? "").split(" ").filter(Boolean)) body[name] = Number(body[name]);
  attempt(async () => {
    const said = await api(form.dataset.send, form.dataset.path, body, actKey());
    const shown = form.dataset.show && said?.[form.dataset.show];
    if (shown) { form.reset(); showOnce(form, shown); }
    await showAnew();
  });
});

// A setting of the workspace: a number, true and false as they are, anything else as text.
document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-policy]");
  if (!form) return;
  event.preventDefault();
  const { name, value } = Object.fromEntries(new FormData(form));
  let meant = value === "" ? null : value;
  try { meant = value === "" ? null : JSON.parse(value); } catch { /* text */ }
  decide(name, meant);
});

// Shown in place, so that whoever sets several stays where they are.
function decide(name, value) {
  attempt(async () => {
    await api("PUT", "/v1/policy", { policy: { [name]: value } });
    document.activeElement?.blur();
    document.querySelectorAll("[data-live=policy] details[open]").forEach((one) => { one.open = false; });
    await refresh();
    tell(value === null ? `${name} is left to quire.toml again` : `${name} = ${value}, for runs that begin from now on`);
  });
}

document.addEventListener("click", (event) => {
  const back = event.target.closest("[data-policy-back]");
  if (back) decide(back.dataset.policyBack, null);
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-remove]");
  if (!button) return;
  attempt(async () => {
    const { remove, ask, askWords } = button.dataset;
    if (!(await confirmOnce(ask, askWords ?? "", "Remove"))) return;
    await api("DELETE", remove);
    await showAnew();
  });
});
