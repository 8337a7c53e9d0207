// Schema files among those that are brought in: told apart from documents, and kept as schemas if a person says so.
import { api, attempt, confirmOnce } from "/static/quire.js";

const MOST_BYTES = 1024 * 1024;
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

// What a file says, if it is a schema; null if it is something else.
async function schemaIn(file) {
  if (!/\.json$/i.test(file.name) || file.size > MOST_BYTES) return null;
  let read;
  try { read = JSON.parse(await file.text()); } catch { return null; }
  if (!isObject(read)) return null;
  const hasFields = isObject(read.properties) && ["object", undefined].includes(read.type);
  return hasFields || isObject(read.prompt_config) ? read : null;
}

// A name for a schema whose file gives it none.
export const nameOf = (file) => file.name.replace(/\.[^.]*$/, "").replace(/[^\w-]+/g, "_").slice(0, 60) || "schema";

// Asks about each schema among some files; gives back what is to become documents, and what was kept.
export async function keepSchemas(files) {
  const documents = []; const kept = [];
  for (const file of files) {
    const body = await schemaIn(file);
    if (!body) { documents.push(file); continue; }
    const answer = await confirmOnce(`Keep ${file.name} as a schema?`, "By its content it is a schema: what is asked of documents, not one of them.", "Keep as a schema", { danger: false, no: "Make a document of it" });
    if (answer === false) documents.push(file);
    if (!answer) continue;
    const made = await attempt(() => api("POST", "/v1/schemas", { body, name: body.title ? undefined : nameOf(file) }));
    if (made) kept.push(made);
  }
  return { documents, kept };
}
