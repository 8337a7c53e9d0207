// Forms that act through the API: what is filled in goes as JSON, and the page is shown anew.
import { actKey, api, attempt, confirmOnce, tell } from "./quire.js";

document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-send]");
  if (!form) return;
  event.preventDefault();
  const body = Object.fromEntries(new FormData(form));
  for (const name of (form.dataset.numbers ?? "").split(" ").filter(Boolean)) body[name] = Number(body[name]);
  attempt(async () => {
    const said = await api(form.dataset.send, form.dataset.path, body, actKey());
    const shown = form.dataset.show && said?.[form.dataset.show];
    if (shown) { tell(`${form.dataset.show}, shown this once: ${shown}`, { error: true }); form.reset(); return; }
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
