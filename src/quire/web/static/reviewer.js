// Who reviews: people who signed in are who they are; at this machine the name is asked for once.

const PLACE = "reviewer";

export class Reviewer {
  constructor(root) {
    this.local = root.dataset.local !== "";
    this.name = this.local ? (localStorage.getItem(PLACE) ?? "") : root.dataset.name;
    this.dialog = document.getElementById("who");
    this.button = document.getElementById("who-button");
    this.button?.addEventListener("click", () => this.ask());
    this.show();
  }

  // What goes along with every request: nothing where the server knows it.
  get body() { return this.local ? { who: this.name } : {}; }

  async known() { return this.name || this.ask(); }

  ask() {
    const field = this.dialog.querySelector("input");
    field.value = this.name;
    return new Promise((resolve) => {
      const end = () => {
        const said = field.value.trim().replace(/\s+/g, " ");
        if (!said && !this.name) { this.dialog.showModal(); return; } // every decision needs a name
        this.dialog.removeEventListener("close", end);
        if (said) { this.name = said; localStorage.setItem(PLACE, said); }
        this.show();
        resolve(this.name);
      };
      this.dialog.addEventListener("close", end);
      this.dialog.showModal();
      field.select();
    });
  }

  show() {
    if (!this.button || !this.local) return;
    this.button.hidden = !this.name;
    this.button.textContent = `as ${this.name}`;
    this.button.title = "Change the name";
  }
}
