// Who reviews: people who signed in are who they are; at this machine the name is asked for once.

const PLACE = "reviewer";

// A name has a letter or a digit: what an earlier page kept without one is asked for again.
function keptName() {
  const kept = localStorage.getItem(PLACE) ?? "";
  return /[\p{L}\p{N}]/u.test(kept) ? kept : "";
}

export class Reviewer {
  constructor(root) {
    this.local = root.dataset.local !== "";
    this.name = this.local ? keptName() : root.dataset.name;
    this.dialog = document.getElementById("who");
    this.button = document.getElementById("who-button");
    this.dialog?.querySelector("[data-only-look]").addEventListener("click", () => this.dialog.close());
    this.dialog?.addEventListener("close", () => this.closed());
    this.button?.addEventListener("click", () => this.ask());
    this.show();
  }

  // Whether nobody has said yet who decides: one may look, and is asked when one decides.
  get unknown() { return this.local && !this.name; }

  // What goes along with every request: nothing where the server knows it.
  get body() { return this.local ? { who: this.name } : {}; }

  async known() { return this.name || this.ask(); }

  // Asks for the name; whoever closes the dialog leaves it as it was. Resolves to the name, "" where there is none.
  ask() {
    this.answer?.(this.name); // who asked before was told nothing, and goes no further
    const field = this.dialog.querySelector("input");
    field.value = this.name;
    this.dialog.returnValue = ""; // what an earlier "Go on" left there
    return new Promise((resolve) => {
      this.answer = resolve;
      this.dialog.showModal();
      field.select();
    });
  }

  closed() {
    if (this.dialog.open) return; // it was closed and opened again since: browsers tell it late
    if (this.dialog.returnValue === "named") this.keep(this.dialog.querySelector("input").value.trim().replace(/\s+/g, " "));
    this.answer?.(this.name);
    this.answer = null;
  }

  keep(name) {
    this.name = name;
    localStorage.setItem(PLACE, name);
    this.show();
  }

  show() {
    if (!this.button || !this.local) return;
    this.button.hidden = !this.name;
    this.button.textContent = `as ${this.name}`;
    this.button.title = "Change the name";
  }
}
