// Bringing files in: dropped or chosen, folders too, a few at a time, with progress, each refusal in its own line.
import { button } from "/static/quire.js";
import { keepSchemas } from "/static/schema_files.js";

const AT_ONCE = 20; // files in a request
const OTHER_ENCODING = "latin-1"; // that texts which are no UTF-8 are mostly in
const TEXTS = /\.(csv|tsv|txt|md|html?|json|jsonl|xml|log)$/i;
const MOST_BYTES = 64 * 1024 * 1024; // of a request, unless one file is larger

// The files of a drop, those in folders too.
export async function droppedFiles(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files];
  const found = [];
  for (const entry of entries) await walk(entry, found);
  return found;
}

async function walk(entry, found) {
  if (entry.name.startsWith(".")) return;
  if (entry.isFile) { found.push(await new Promise((resolve, reject) => entry.file(resolve, reject))); return; }
  const reader = entry.createReader();
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return;
    for (const child of some) await walk(child, found);
  }
}

function groups(files) {
  const made = []; let bytes = 0;
  for (const file of files) {
    const last = made.at(-1);
    if (!last || last.length >= AT_ONCE || bytes + file.size > MOST_BYTES) { made.push([file]); bytes = file.size; }
    else { last.push(file); bytes += file.size; }
  }
  return made;
}

function send(files, progress, encoding) {
  return new Promise((resolve) => {
    const form = new FormData();
    for (const file of files) form.append("files", file, file.name);
    const request = new XMLHttpRequest();
    request.open("POST", `/v1/documents${encoding ? `?encoding=${encoding}` : ""}`);
    request.setRequestHeader("Accept", "application/json");
    request.upload.onprogress = (event) => progress(event.loaded);
    request.onload = () => {
      let body = null;
      try { body = JSON.parse(request.responseText); } catch { /* told by its status */ }
      if (request.status < 300 && body) { resolve(body); return; }
      const reason = body?.error?.message ?? `the server answered ${request.status}`;
      resolve({ documents: [], refused: files.map((file) => ({ name: file.name, reason })) });
    };
    request.onerror = () => resolve({ documents: [], refused: files.map((file) => ({ name: file.name, reason: "the server does not answer; drop it again" })) });
    request.send(form);
  });
}

// Sends files; `tell(share, words)` hears how far it is. Gives back documents and refusals.
export async function bringIn(files, tell, encoding = null) {
  const bytes = files.reduce((sum, file) => sum + file.size, 0) || 1;
  const result = { documents: [], refused: [] };
  let sent = 0; let done = 0;
  for (const some of groups(files)) {
    const size = some.reduce((sum, file) => sum + file.size, 0);
    tell(sent / bytes, `${done} of ${files.length} files · sending ${some[0].name}${some.length > 1 ? ` and ${some.length - 1} more` : ""}`);
    const answer = await send(some, (loaded) => tell(Math.min(1, (sent + Math.min(loaded, size)) / bytes),
      loaded >= size ? `${done} of ${files.length} files · reading ${some.length === 1 ? some[0].name : `${some.length} files`}` : `${done} of ${files.length} files · sending`), encoding);
    result.documents.push(...answer.documents);
    result.refused.push(...answer.refused);
    sent += size; done += some.length;
  }
  const blocks = result.documents.reduce((sum, one) => sum + one.blocks, 0);
  const refused = result.refused.length ? `, ${result.refused.length} refused` : "";
  tell(1, `${result.documents.length} of ${files.length} file${files.length === 1 ? "" : "s"} brought in, ${blocks === 1 ? "1 block" : `${blocks.toLocaleString("en")} blocks`}${refused}`);
  return result;
}

// Makes a part of a page take files; `done` gets what became of them, `keep` the schemas that were kept of them.
export function takeFiles({ drop, inputs, bar, words, box, refused, done, keep }) {
  const take = async (all) => {
    const { documents: files, kept } = await keepSchemas(all);
    if (kept.length) keep(kept);
    if (!files.length) return;
    refused.replaceChildren();
    await bring(files);
  };
  const bring = async (files, encoding = null) => {
    box.hidden = false;
    const result = await bringIn(files, (share, text) => { bar.value = share; words.textContent = text; }, encoding);
    for (const { name, reason } of result.refused) {
      const line = document.createElement("li");
      line.className = "problem text";
      line.textContent = `${name}: ${reason}`;
      const file = files.find((one) => one.name === name);
      if (file && !encoding && TEXTS.test(name)) line.append(" ", button(`Read it as ${OTHER_ENCODING}`, () => { line.remove(); bring([file], OTHER_ENCODING); }));
      refused.append(line);
    }
    done(result);
  };
  drop.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", async (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    await take(await droppedFiles(event.dataTransfer));
  });
  for (const input of inputs) input.addEventListener("change", async () => { await take([...input.files]); input.value = ""; });
}
