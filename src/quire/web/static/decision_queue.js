// Decisions on their way: sent in order, behind the person's back, and kept here until the server has them.
//
// Each has an Idempotency-Key, so that sending it twice decides once. What was not answered when the page was closed is in
// the browser's storage, and goes again when a review page of this run is opened.

import { ApiError } from "/static/quire.js";

const KEEPALIVE = 30000; // characters that a browser surely sends after its page is closed

export class DecisionQueue {
  constructor(place, changed) {
    this.place = place;
    this.changed = changed; // called with (how many wait, whether the server is away)
    this.waiting = [];
    this.answers = new Map();
    this.sending = false;
    this.away = false;
  }

  // Sends what an earlier page left behind; `refused` is told of each that is not taken.
  resume(refused) {
    let left = [];
    try { left = JSON.parse(localStorage.getItem(this.place) ?? "[]"); } catch { /* nothing that can be read */ }
    for (const entry of left) this.#add(entry).catch((error) => refused(entry, error));
  }

  // One decision; resolves to what became of it, or throws ApiError where it is refused.
  push(task, move, body) {
    const key = crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}`;
    return this.#add({ key, task, move, body });
  }

  get length() { return this.waiting.length; }

  async idle() { while (this.waiting.length) await this.answers.get(this.waiting.at(-1).key).promise.catch(() => {}); }

  #add(entry) {
    const answer = {};
    answer.promise = new Promise((resolve, reject) => Object.assign(answer, { resolve, reject }));
    this.answers.set(entry.key, answer);
    this.waiting.push(entry);
    this.#keep();
    this.#run();
    return answer.promise;
  }

  #keep() {
    try {
      if (this.waiting.length) localStorage.setItem(this.place, JSON.stringify(this.waiting));
      else localStorage.removeItem(this.place);
    } catch { /* the storage is full: the page says that it is saving until all is sent */ }
    this.changed(this.waiting.length, this.away);
  }

  async #run() {
    if (this.sending) return;
    this.sending = true;
    for (let wait = 500; this.waiting.length;) {
      const entry = this.waiting[0];
      try {
        const decided = await send(entry);
        wait = 500;
        this.#end(entry).resolve(decided);
      } catch (error) {
        if (error.status && error.status < 500) { this.#end(entry).reject(error); continue; }
        this.away = true;
        this.changed(this.waiting.length, true);
        await new Promise((again) => setTimeout(again, wait));
        wait = Math.min(wait * 2, 8000);
      }
    }
    this.sending = false;
  }

  #end(entry) {
    const answer = this.answers.get(entry.key);
    this.away = false;
    this.waiting.shift();
    this.answers.delete(entry.key);
    this.#keep();
    return answer;
  }
}

async function send({ key, task, move, body }) {
  const text = JSON.stringify(body);
  const headers = { "Content-Type": "application/json", Accept: "application/json", "Idempotency-Key": key };
  const path = `/v1/tasks/${task}/${move}`;
  let response;
  try {
    response = await fetch(path, { method: "POST", headers, body: text, keepalive: text.length < KEEPALIVE });
  } catch { throw new ApiError(0, {}); }
  const answer = await response.json().catch(() => null);
  if (!response.ok) throw new ApiError(response.status, answer);
  return answer;
}
