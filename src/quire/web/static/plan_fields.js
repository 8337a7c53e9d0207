// The typed fields of a new run: each read as a value, or refused in words beside it. Nothing typed is ever left out.
const NUMBER = /^(\d+(\.\d*)?|\.\d+)$/;
const DURATION = /^\d{1,9}(\.\d{1,3})?\s*[smhd]$/i; // as a policy reads it

function readBudget(text, most) {
  const number = text.replace(/^\$\s*/, "");
  if (!NUMBER.test(number)) return { problem: "a number of dollars, such as 5 or 0.50" };
  const value = Number(number);
  if (!(value > 0)) return { problem: "more than 0 dollars; empty: no budget" };
  return value > most ? { problem: `at most ${most.toLocaleString("en")} dollars` } : { value };
}

function readLimit(text) {
  const value = Number(text);
  return /^\d+$/.test(text) && value >= 1 && Number.isSafeInteger(value) ? { value } : { problem: "a whole number from 1, such as 100; empty: all" };
}

const readDeadline = (text) => (DURATION.test(text) ? { value: text } : { problem: "a time such as 90s, 15m, 2h or 1d; empty: none" });

const READERS = { budget: readBudget, limit: readLimit, deadline: readDeadline };

// What stands in the field: { value }, { problem } in words, or {} where nothing was typed.
function readField(name) {
  const input = document.getElementById(name);
  const text = input.value.trim();
  return text ? READERS[name](text, Number(input.dataset.most)) : {};
}

// Reads all of them and shows what is wrong beside each; `sound` says whether a run may be started with them.
export function readFields() {
  const found = { sound: true };
  for (const name of Object.keys(READERS)) {
    const { value, problem } = readField(name);
    found[name] = value;
    if (problem) found.sound = false;
    const line = document.getElementById(`${name}-problem`);
    if (line.textContent !== (problem ?? "")) line.textContent = problem ?? "";
    line.hidden = !problem;
    document.getElementById(name).setAttribute("aria-invalid", String(Boolean(problem)));
  }
  return found;
}
