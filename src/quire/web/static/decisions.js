// The page of decisions: each that still stands can be taken back, alone or with all that were made at once with it.

import { actKey, api, attempt } from "/static/quire.js";
import { Reviewer } from "/static/reviewer.js";

const root = document.getElementById("decisions");
const reviewer = new Reviewer(root);

root.addEventListener("click", (event) => {
  const button = event.target.closest("[data-undo]");
  if (button) attempt(() => takeBack(button, `/v1/tasks/${button.dataset.task}/undo`, button.dataset.undo));
  const all = event.target.closest("[data-undo-all]");
  if (all) attempt(() => takeBack(all, `/v1/runs/${root.dataset.run}/bulk/undo`, all.dataset.undoAll));
});

async function takeBack(button, path, decision) {
  if (!(await reviewer.known())) return;
  button.disabled = true;
  try {
    const body = { ...reviewer.body, decision: Number(decision) };
    await api("POST", path, body, actKey());
    location.reload();
  } finally { button.disabled = false; }
}
