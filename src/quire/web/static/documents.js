// The list of documents: takes files, and shows what came in without losing what was refused.
import { tell } from "/static/quire.js";
import { takeFiles } from "/static/uploads.js";

const at = (id) => document.getElementById(id);

if (at("drop")) takeFiles({
  drop: at("drop"), inputs: [at("files"), at("folder")], bar: at("upload-progress"), words: at("upload-words"), box: at("upload"), refused: at("refused"),
  done: async (result) => {
    if (!result.documents.length) return;
    const response = await fetch(location.pathname, { headers: { Accept: "text/html" } });
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
    const list = fresh.querySelector(".documents");
    const here = document.querySelector(".documents") ?? document.querySelector(".empty");
    if (list && here) here.replaceWith(document.importNode(list, true));
    document.getElementById("new-run").hidden = false;
    const next = document.getElementById("next-step");
    const brought = new Set([...(next.dataset.documents ?? "").split(",").filter(Boolean), ...result.documents.map((one) => String(one.id))]);
    next.dataset.documents = [...brought].join(",");
    next.hidden = false;
    next.querySelector("a").href = next.dataset.documents.length > 3500 ? "/new" : `/new?${new URLSearchParams({ documents: next.dataset.documents })}`;
    next.querySelector("a").textContent = brought.size === 1 ? "Ask about it" : `Ask about these ${brought.size}`;
    const old = result.documents.filter((one) => one.new === false).length;
    if (old) tell(`${old} ${old === 1 ? "was" : "were"} here already, unchanged`);
  },
});
