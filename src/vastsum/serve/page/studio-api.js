/* The studio's API, and what is going on in it, told as it happens. */
const BASE = "/api/v1";

/** An answer that is no success: `status`, and for a person `problem` and `remedy`. */
export class ApiError extends Error {
  constructor(status, { problem = "the studio does not answer", remedy = "" } = {}) {
    super(remedy ? `${problem}; ${remedy}` : problem);
    Object.assign(this, { status, problem, remedy });
  }
}

export async function call(method, path, body, { keepalive = false } = {}) {
  const asked =
    body === undefined ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
  let answer;
  try {
    answer = await fetch(BASE + path, { method, keepalive, ...asked });
  } catch {
    throw new ApiError(0, { problem: "the studio does not answer", remedy: "see whether it is still running" });
  }
  if (!answer.ok) throw new ApiError(answer.status, await answer.json().catch(() => ({})));
  return answer.status === 204 ? null : answer.json();
}

export const get = (path) => call("GET", path);
export const videoUrl = (job) => `${BASE}/jobs/${job.id}/video`;
export const exportUrl = (job, format) => `${BASE}/jobs/${job.id}/exports/${format}/file`;
export const thumbnails = (job) =>
  (job.video?.thumbnails_s ?? []).map((time_s, n) => ({ time_s, src: `${BASE}/jobs/${job.id}/thumbnails/${n}` }));

/** Sends a file as it is; `follow` is told the share that has left. Gives { done, abort }. */
export function upload(file, options, follow) {
  const request = new XMLHttpRequest(); // fetch cannot tell how much has been sent
  const done = new Promise((resolve, reject) => {
    request.open("POST", `${BASE}/uploads?${new URLSearchParams({ name: file.name, ...options })}`);
    request.responseType = "json";
    request.upload.onprogress = (event) => follow(event.loaded / Math.max(event.total, 1));
    request.onload = () =>
      request.status === 201 ? resolve(request.response) : reject(new ApiError(request.status, request.response ?? {}));
    request.onerror = () => reject(new ApiError(0, { problem: "the upload was cut off", remedy: "try again" }));
    request.onabort = () => reject(new ApiError(0, { problem: "the upload was cancelled" }));
    request.send(file);
  });
  return { done, abort: () => request.abort() };
}

/** All jobs that are known, by id; "job" and "deleted" events as they change, "lost" and "back" with the connection. */
class Live extends EventTarget {
  jobs = new Map();
  #source = null;
  #asked = 0; // how often the list was
  #told = new Map(); // of which job how often it had been asked for by then: what is told later is newer than the list

  async open() {
    this.#listen();
    // A browser has six connections to a server for all its tabs together: one that is not looked at keeps none.
    document.addEventListener("visibilitychange", () => (document.hidden ? this.#source.close() : this.#listen()));
    await this.refresh();
  }

  #listen() {
    this.#source?.close();
    this.#source = new EventSource(`${BASE}/events`);
    this.#source.addEventListener("job", (event) => this.#hear(JSON.parse(event.data)));
    this.#source.addEventListener("deleted", (event) => this.drop(JSON.parse(event.data).id));
    this.#source.onopen = () =>
      this.refresh().then(
        () => this.dispatchEvent(new Event("back")),
        () => {},
      );
    this.#source.onerror = () => {
      this.dispatchEvent(new Event("lost"));
      // Refused rather than cut off: sessions end with the studio, and a new one asks for the token again.
      if (this.#source.readyState === EventSource.CLOSED)
        get("/about").catch((error) => error.status === 401 && location.reload());
    };
  }

  async refresh() {
    const asked = ++this.#asked;
    const { jobs } = await get("/jobs?limit=200");
    const isOlder = (id) => (this.#told.get(id) ?? 0) < asked;
    const known = new Set(jobs.map((job) => job.id));
    const oldest = Math.min(...jobs.map((job) => job.number));
    for (const { id, number } of this.jobs.values())
      if (!known.has(id) && isOlder(id) && !(number < oldest)) this.#forget(id);
    for (const job of jobs) if (isOlder(job.id)) this.#put(job);
  }

  /** A job that was just submitted; the stream may have told more of it already. */
  add(job) {
    if (!this.jobs.has(job.id)) this.#hear(job);
  }

  drop(id) {
    this.#told.set(id, this.#asked);
    this.#forget(id);
  }

  #hear(job) {
    this.#told.set(job.id, this.#asked);
    this.#put(job);
  }

  #put(job) {
    this.jobs.set(job.id, job);
    this.dispatchEvent(new CustomEvent("job", { detail: job }));
  }

  #forget(id) {
    if (this.jobs.delete(id)) this.dispatchEvent(new CustomEvent("deleted", { detail: id }));
  }

  get newestFirst() {
    return [...this.jobs.values()].sort((a, b) => b.number - a.number);
  }
}

export const live = new Live();
