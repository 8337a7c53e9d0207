// The list of documents: takes files, and shows what came in without losing what was refused.
import { tell } from "/static/quire.js";
import { takeFiles } from "/static/uploads.js";

const at = (id) => document.getElementById(id);

let schema = null; // the last one that was kept of what came in

function showNext() {
  const next = at("next-step");
  const brought = (next.dataset.documents ?? "").split(",").filter(Boolean);
  const asked = new URLSearchParams();
  if (brought.length && next.dataset.documents.length <= 3500) asked.set("documents", next.dataset.documents);
  if (schema) asked.set("schema", schema);
  next.hidden = false;
  next.querySelector("a").href = `/new${asked.size ? `?${asked}` : ""}`;
  const about = brought.length === 1 ? "Ask about it" : brought.length ? `Ask about these ${brought.length}` : "Ask";
  next.querySelector("a").textContent = schema ? `${about} with the schema ${schema}` : about;
}

if (at("drop")) takeFiles({
  keep: (kept) => {
    schema = kept.at(-1).ref;
    for (const one of kept) tell(`kept as the schema ${one.ref}`);
    showNext();
  },
  drop: at("drop"), inputs: [at("files"), at("folder")], bar: at("upload-progress"), words: at("upload-words"), box: at("upload"), refused: at("refused"),
  done: async (result) => {
    if (!result.documents.length) return;
    const response = await fetch(location.pathname, { headers: { Accept: "text/html" } });
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
    const list = fresh.querySelector(".documents");
    const here = document.querySelector(".documents") ?? document.querySelector(".empty");
    if (list && here) here.replaceWith(document.importNode(list, true));
    document.getElementById("new-run").hidden = false;
    const next = at("next-step");
    const brought = new Set([...(next.dataset.documents ?? "").split(",").filter(Boolean), ...result.documents.map((one) => String(one.id))]);
    next.dataset.documents = [...brought].join(",");
    showNext();
    const old = result.documents.filter((one) => one.new === false).length;
    if (old) tell(`${old} ${old === 1 ? "was" : "were"} here already, unchanged`);
  },
});
