// Forms that act through the API: what is filled in goes as JSON, and the page is shown anew.
import { actKey, api, attempt, confirmOnce, tell } from "./quire.js";

document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-send]");
  if (!form) return;
  event.preventDefault();
  const body = Object.fromEntries([...new FormData(form)].filter(([, value]) => value !== ""));
  for (const name of (form.dataset.numbers ?? "").split(" ").filter(Boolean)) body[name] = Number(body[name]);
  attempt(async () => {
    const said = await api(form.dataset.send, form.dataset.path, body, actKey());
    const shown = form.dataset.show && said?.[form.dataset.show];
    if (shown) { tell(`${form.dataset.show}, shown this once: ${shown}`, { error: true }); form.reset(); return; }
    location.reload();
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
  attempt(async () => {
    await api("PUT", "/v1/policy", { policy: { [name]: meant } });
    location.reload();
  });
});

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-remove]");
  if (!button) return;
  attempt(async () => {
    const { remove, ask, askWords } = button.dataset;
    if (!(await confirmOnce(ask, askWords ?? "", "Remove"))) return;
    await api("DELETE", remove);
    location.reload();
  });
});
