// The page of decisions: each that still stands can be taken back, also one of many that were made at once.

import { actKey, api, attempt } from "/static/quire.js";
import { Reviewer } from "/static/reviewer.js";

const root = document.getElementById("decisions");
const reviewer = new Reviewer(root);

root.addEventListener("click", (event) => {
  const button = event.target.closest("[data-undo]");
  if (button) attempt(() => takeBack(button));
});

async function takeBack(button) {
  if (!(await reviewer.known())) return;
  button.disabled = true;
  try {
    const body = { ...reviewer.body, decision: Number(button.dataset.undo) };
    await api("POST", `/v1/tasks/${button.dataset.task}/undo`, body, actKey());
    location.reload();
  } finally { button.disabled = false; }
}
