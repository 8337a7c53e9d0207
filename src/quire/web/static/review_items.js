// Items before they are wanted: the next ones are leased to the reviewer and fetched, so that a key shows them at once.

import { ApiError, api } from "/static/quire.js";

const KEPT = 40; // items in memory; older ones are fetched again

export class ReviewItems {
  constructor(run, reviewer, mayDecide) {
    Object.assign(this, { run, reviewer, mayDecide });
    this.articles = new Map();
    this.fetching = new Map();
    this.held = new Set();
    this.refused = new Map(); // task -> why it is not ours
  }

  get(task) { return this.articles.get(task); }

  keep(article) {
    this.articles.set(Number(article.dataset.task), article);
    for (const task of [...this.articles.keys()].slice(0, -KEPT)) this.articles.delete(task);
  }

  forget(task) { this.articles.delete(task); }

  // Leases and fetches those of `tasks` that are not here; resolves when all are, to those that somebody else is at.
  async prepare(tasks, { again = false } = {}) {
    const missing = tasks.filter((task) => again || (!this.articles.has(task) && !this.fetching.has(task)));
    if (missing.length) {
      const done = this.#load(missing).finally(() => { for (const task of missing) this.fetching.delete(task); });
      for (const task of missing) this.fetching.set(task, done);
    }
    await Promise.all(tasks.map((task) => this.fetching.get(task)).filter(Boolean));
    return tasks.filter((task) => this.refused.has(task));
  }

  async #load(tasks) {
    if (this.mayDecide) await this.hold(tasks);
    const response = await fetch(`/runs/${this.run}/review/items?tasks=${tasks.join(",")}`, { headers: { Accept: "text/html" } });
    if (!response.ok) throw new ApiError(response.status, await response.json().catch(() => null));
    const box = document.createElement("template");
    box.innerHTML = await response.text(); // made by our own templates, which escape every value
    for (const article of [...box.content.querySelectorAll("article.item")]) this.keep(document.adoptNode(article));
  }

  // Leases items, or keeps them for longer.
  async hold(tasks) {
    if (!tasks.length || this.reviewer.unknown) return; // who only looks keeps nothing from others
    const answer = await api("POST", `/v1/runs/${this.run}/leases`, { ...this.reviewer.body, tasks });
    for (const task of answer.tasks) { this.held.add(task); this.refused.delete(task); }
    for (const { task_id: task, message } of answer.refused) { this.held.delete(task); this.refused.set(task, message); }
  }

  // Gives items back; with `beacon`, also when the page is just being closed.
  release(tasks, { beacon = false } = {}) {
    const ours = tasks.filter((task) => this.held.delete(task));
    if (!ours.length) return;
    const path = `/v1/runs/${this.run}/leases/release`;
    const body = JSON.stringify({ ...this.reviewer.body, tasks: ours });
    const options = { method: "POST", body, headers: { "Content-Type": "application/json" }, keepalive: beacon };
    fetch(path, options).catch(() => {}); // the lease ends by itself
  }
}
