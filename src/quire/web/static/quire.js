// What every page shares: calls to the API, messages, the theme, copying commands.

export class ApiError extends Error {
  constructor(status, body) {
    const error = body?.error ?? {};
    super([error.message || `the server answered ${status}`, error.fix].filter(Boolean).join("; "));
    this.status = status;
    this.kind = error.kind ?? "";
  }
}

// Calls the API; `body` is sent as JSON. Throws ApiError with the words to show.
export async function api(method, path, body, headers = {}) {
  const options = { method, headers: { Accept: "application/json", ...headers } };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["Content-Type"] = "application/json";
  }
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new ApiError(0, { error: { message: "the server does not answer", fix: "it is tried again when you act" } });
  }
  const text = await response.text();
  let data = null;
  try { data = text ? JSON.parse(text) : null; } catch { /* not JSON: told by its status */ }
  if (!response.ok) throw new ApiError(response.status, data);
  return data;
}

// Shows one line at the foot of the page; errors stay until they are closed.
export function tell(words, { error = false, undo = null } = {}) {
  const box = document.getElementById("messages");
  const line = document.createElement("div");
  line.className = error ? "message error" : "message";
  line.append(words);
  if (undo) line.append(button("Undo", () => { line.remove(); undo(); }));
  if (error) line.append(button("Close", () => line.remove()));
  else setTimeout(() => line.remove(), 6000);
  box.append(line);
}

export function button(name, act) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = name;
  made.addEventListener("click", act);
  return made;
}

// Runs `act`, and tells what goes wrong.
export async function attempt(act) {
  try { return await act(); } catch (error) { tell(error.message, { error: true }); return undefined; }
}

document.addEventListener("click", (event) => {
  const switcher = event.target.closest("[data-theme-switch]");
  if (switcher) {
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    const now = document.documentElement.dataset.theme ?? (dark ? "dark" : "light");
    const next = now === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    localStorage.setItem("theme", next);
  }
  const command = event.target.closest("[data-command]");
  if (command) {
    navigator.clipboard?.writeText(command.dataset.command);
    tell(`copied: ${command.dataset.command}`);
  }
});
