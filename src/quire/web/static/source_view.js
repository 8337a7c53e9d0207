// Markdown in review and audit: formatted, or its exact source; what was chosen last stays.

import { isTyping } from "/static/quire.js";

function switchSource(ways) {
  const exact = [...ways.querySelectorAll(".subject.as-written")].some((way) => way.offsetParent);
  document.documentElement.dataset.source = exact ? "formatted" : "exact"; // theme.js sets it on the next page
  localStorage.setItem("source", document.documentElement.dataset.source);
}

document.addEventListener("click", (event) => {
  const ways = event.target.closest("[data-source-switch]")?.closest(".ways");
  if (ways) switchSource(ways);
});

document.addEventListener("keydown", (event) => {
  const ways = event.key === "x" && !isTyping(event) && !event.defaultPrevented && document.querySelector("#place .ways");
  if (ways) switchSource(ways);
});
