/* One video: its progress, and then its timeline, budget, changes by hand and exports. */
import { call, exportUrl, get, live, videoUrl } from "/studio-api.js";
import {
  attempt,
  badge,
  budgetControl,
  bytes,
  deleteJob,
  facts,
  isOpen,
  loadJob,
  player,
  progressBar,
  resultFacts,
  say,
  share,
  stages,
  when,
} from "/studio-parts.js";
const { element } = globalThis.vastsum;

const SAVE_AFTER_MS = 250;

export async function jobView(view, about, id) {
  let job = live.jobs.get(id) ?? (await get(`/jobs/${id}`));
  let shownState = null;
  let working = null;
  let editor = null;
  const head = element("header", { className: "job-head" });
  const body = element("div", { className: "job-body" });
  view.append(head, body);

  const show = () => {
    if (job.state === "done" && editor) return editor.follow(job);
    if (job.state === "done") {
      shownState = "done";
      head.replaceChildren(...heading(job));
      editor = makeEditor(body, about, job);
      return undefined;
    }
    if (shownState !== job.state) {
      head.replaceChildren(...heading(job));
      working = isOpen(job) ? waiting(job) : null;
      body.replaceChildren(working?.card ?? ended(job));
    }
    shownState = job.state;
    working?.show(job);
    return undefined;
  };
  const changed = ({ detail }) => {
    if (detail.id === id) {
      job = detail;
      show();
    }
  };
  const deleted = ({ detail }) => {
    if (detail === id) location.hash = "#/";
  };
  live.addEventListener("job", changed);
  live.addEventListener("deleted", deleted);
  show();
  document.title = `${job.name} · VASTSum Studio`;
  return () => {
    live.removeEventListener("job", changed);
    live.removeEventListener("deleted", deleted);
    editor?.close();
  };
}

function heading(job) {
  const about = [facts(job), when(job.created_at)].join(" · ");
  return [
    element("div", {}, element("h1", {}, job.name), element("p", { className: "quiet" }, about)),
    element(
      "div",
      { className: "row" },
      job.state === "done" ? element("a", { className: "button", href: `#/compare/${job.id}` }, "Compare") : badge(job),
      element("button", { type: "button", onclick: attempt(() => deleteJob(job)) }, "Delete"),
    ),
  ];
}

/** A card, and what puts it in step with the job: its button stays, because a click may be under way. */
function waiting(job) {
  let list = stages(job);
  const text = element("p", { className: "quiet" });
  const cancel = attempt(() => call("POST", `/jobs/${job.id}/cancel`));
  const card = element(
    "section",
    { className: "card working" },
    list,
    element("div", { className: "row" }, text, element("button", { type: "button", onclick: cancel }, "Cancel")),
  );
  const show = (now) => {
    const fresh = stages(now);
    list.replaceWith(fresh);
    list = fresh;
    text.textContent = placeInLine(now);
  };
  return { card, show };
}

function placeInLine({ state, position }) {
  if (state !== "queued") return "You may close this page: the work goes on.";
  if (!position) return "It is next in line.";
  return `${position} ${position === 1 ? "video comes" : "videos come"} first.`;
}

function ended(job) {
  const problem = job.state === "cancelled" ? "It was cancelled." : job.failure.problem;
  const again = attempt(async () => {
    const source = job.library_path === null ? { job: job.id } : { library: job.library_path };
    const fresh = await call("POST", "/jobs", { ...source, budget: job.budget, model: job.model, fast: job.fast });
    live.add(fresh);
    location.hash = `#/job/${fresh.id}`;
  });
  return element(
    "section",
    { className: "card ended" },
    element("h2", {}, job.state === "cancelled" ? "Cancelled" : "This did not work"),
    element("p", {}, problem),
    element("p", { className: "quiet" }, job.failure?.remedy ?? ""),
    element(
      "div",
      { className: "row" },
      element("button", { type: "button", className: "main", onclick: again }, "Try again"),
    ),
  );
}

function makeEditor(body, about, job) {
  const timeline = document.createElement("vastsum-timeline");
  const { video, box } = player(videoUrl(job), job.name);
  const state = element("p", { className: "kept quiet", role: "status" });
  const exports = exportsCard(about, job, () => keeper.flush());
  const result = element("dl", { className: "facts" });
  const undo = element("button", { type: "button", onclick: () => timeline.undo() }, "Undo");
  const reset = element("button", { type: "button", onclick: () => timeline.reset() }, "As it was");
  const keeper = keep(job, timeline, state);
  let control = null;

  const show = () => {
    control.show();
    result.replaceChildren(...resultFacts(timeline.summary));
    undo.disabled = !timeline.draft.canUndo;
    reset.disabled = !timeline.draft.isEdited;
  };
  const start = attempt(async () => {
    const loaded = await loadJob(job);
    control = budgetControl(timeline, loaded.summary.budget.fraction);
    const length = element(
      "section",
      { className: "card length", ariaLabel: "Length" },
      element("div", { className: "heading" }, element("h2", {}, "Length"), state),
      control.parts,
      result,
      element("div", { className: "actions" }, undo, reset),
    );
    const notes = job.notes.map((note) => element("p", { className: "card note" }, note));
    body.replaceChildren(
      element("div", { className: "stage-row" }, box, length),
      ...notes,
      element("section", { className: "card", ariaLabel: "Timeline" }, element("h2", {}, "Timeline"), timeline),
      exports.card,
    );
    timeline.load({ ...loaded, video });
    keeper.start();
    timeline.addEventListener("change", () => {
      show();
      keeper.changed();
    });
    const first = timeline.summary.segments.find((segment) => segment.selected);
    timeline.seek(timeline.draft.timeOf(timeline.draft.highlight(first))); // a picture worth opening with
    show();
    exports.show(job);
  });
  start();
  return {
    follow: (fresh) => exports.show(fresh),
    close: () => {
      keeper.flush();
      video.pause();
    },
  };
}

/** Keeps what is changed by hand with the job, a moment after the hand rests and when the page is left. */
function keep(job, timeline, state) {
  let kept = null,
    resting = 0,
    saving = Promise.resolve();
  const text = () => JSON.stringify(timeline.edits);

  async function save({ keepalive = false } = {}) {
    clearTimeout(resting);
    if (kept === null || text() === kept) return;
    const asked = (kept = text());
    try {
      await call("PUT", `/jobs/${job.id}/selection`, JSON.parse(asked), { keepalive });
      state.textContent = text() === asked ? "kept" : "";
    } catch (error) {
      if (kept === asked) kept = "";
      state.textContent = "not kept";
      throw error;
    }
  }
  const leave = () => save({ keepalive: true }).catch(() => {});
  addEventListener("pagehide", leave);
  return {
    start: () => {
      kept = text();
      if (timeline.draft.isEdited) state.textContent = "kept";
    },
    changed: () => {
      state.textContent = "";
      clearTimeout(resting);
      resting = setTimeout(() => {
        saving = attempt(save)();
      }, SAVE_AFTER_MS);
    },
    flush: async () => {
      await saving;
      await save();
    },
  };
}

// ---- exports ----

function exportsCard(about, job, flush) {
  const rows = new Map();
  const wanted = new Set(); // asked for on this page: downloaded when they are there
  const list = element(
    "ul",
    { className: "exports" },
    about.formats.map(({ name, what }) => {
      const state = element("span", { className: "state quiet" });
      const button = element(
        "button",
        { type: "button", ariaLabel: `Export ${name}`, onclick: () => make(name) },
        "Export",
      );
      rows.set(name, { state, button, told: null });
      return element(
        "li",
        {},
        element("div", {}, element("b", {}, name), element("p", { className: "quiet" }, what)),
        state,
        button,
      );
    }),
  );

  const make = attempt(async (name) => {
    const row = rows.get(name);
    wanted.add(name);
    row.told = null;
    row.state.textContent = "waiting";
    try {
      await flush();
      showOne(await call("PUT", `/jobs/${job.id}/exports/${name}`)); // the stream tells what becomes of it
    } catch (error) {
      wanted.delete(name);
      row.told = null;
      row.state.textContent = "";
      throw error;
    }
  });

  function finish(name) {
    if (!wanted.delete(name)) return;
    element("a", { href: exportUrl(job, name), download: "" }).click();
    say(`${name} is ready`);
  }

  function showOne(made) {
    const row = rows.get(made.format);
    const told = JSON.stringify(made);
    if (told === row.told) return; // a link that is there stays: a click may be under way
    row.told = told;
    row.button.disabled = made.state === "queued" || made.state === "running";
    row.state.replaceChildren(stateOf(made));
    if (made.state === "done" && made.is_current) finish(made.format);
  }

  function stateOf(made) {
    if (made.state === "queued") return "waiting";
    if (made.state === "running") return progressBar(share(made.progress), `Writing ${made.format}`);
    if (made.state === "failed") return element("span", { className: "bad" }, made.failure.problem);
    const size = bytes(made.n_bytes);
    return element(
      "a",
      { href: exportUrl(job, made.format), download: "" },
      made.is_current ? size : `${size}, before your last change`,
    );
  }
  return {
    card: element("section", { className: "card", ariaLabel: "Export" }, element("h2", {}, "Export"), list),
    show: (fresh) => fresh.exports.forEach(showOne),
  };
}
