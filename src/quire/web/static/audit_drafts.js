// Marks of an audit that the server does not have yet: kept in the browser at once, so that no reload loses any.

export class AuditDrafts {
  constructor(audit) { this.place = `audit ${audit}`; }

  #read() { try { return JSON.parse(localStorage.getItem(this.place) ?? "{}"); } catch { return {}; } }

  #write(kept) {
    try {
      if (Object.keys(kept).length) localStorage.setItem(this.place, JSON.stringify(kept));
      else localStorage.removeItem(this.place);
    } catch { /* the storage is full: the page asks before it is left */ }
  }

  // The marks of an item by field; `whole`: all its fields have one, and it is on its way.
  keep(no, marks, whole = false) { this.#write({ ...this.#read(), [no]: { marks, whole } }); }

  marks(no) { return this.#read()[no]?.marks ?? {}; }

  drop(no) {
    const kept = this.#read();
    delete kept[no];
    this.#write(kept);
  }

  // Items that were marked to the end on a page that was closed before they were sent.
  unsent() { return Object.entries(this.#read()).filter(([, { whole }]) => whole).map(([no, { marks }]) => ({ no: Number(no), marks })); }
}
