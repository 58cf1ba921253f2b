/* Videos: drop one, pick one from the library, and all that were summarised before. */
import { call, get, live, upload } from "/studio-api.js";
import {
  attempt,
  badge,
  bytes,
  complain,
  cover,
  deleteJob,
  facts,
  inOrder,
  isOpen,
  progressBar,
  say,
  shortProgress,
  when,
} from "/studio-parts.js";
const { element, percent } = globalThis.vastsum;

const PAGE = 24;
const uploads = new Map(); // those under way, by a number of their own; they go on while other views are shown
let uploadNumber = 0;

/** The settings for new jobs, kept in this browser. */
const wanted = {
  get budget() {
    return localStorage.getItem("vastsum.budget") ?? "15%";
  },
  set budget(text) {
    localStorage.setItem("vastsum.budget", text);
  },
  model: null,
  fast: false,
};

const options = () => ({ budget: wanted.budget, ...(wanted.model ? { model: wanted.model } : {}), fast: wanted.fast });

export function homeView(view, about) {
  let shown = PAGE;
  const going = element("ul", { className: "going", ariaLabel: "Uploads under way" });
  const history = element("ul", { className: "films" });
  const more = element(
    "button",
    {
      type: "button",
      onclick: () => {
        shown += PAGE;
        show();
      },
    },
    "Show more",
  );
  const empty = element(
    "p",
    { className: "quiet" },
    "Nothing yet. What you summarise is kept here until you delete it.",
  );
  view.append(
    element(
      "div",
      { className: about.has_library ? "entry two" : "entry" },
      dropCard(about),
      about.has_library ? libraryCard() : null,
    ),
    going,
    element(
      "section",
      { ariaLabel: "Videos" },
      element("div", { className: "heading" }, element("h2", {}, "Your videos")),
      empty,
      history,
      more,
    ),
  );

  function show() {
    const jobs = live.newestFirst;
    empty.hidden = jobs.length > 0;
    more.hidden = jobs.length <= shown;
    sync(history, jobs.slice(0, shown));
  }
  const showGoing = () =>
    inOrder(
      going,
      [...uploads.values()].map((one) => one.item),
    );
  const later = () => {
    cancelAnimationFrame(later.frame);
    later.frame = requestAnimationFrame(show);
  };
  live.addEventListener("job", later);
  live.addEventListener("deleted", later);
  live.addEventListener("uploads", showGoing);
  show();
  showGoing();
  return () => {
    live.removeEventListener("job", later);
    live.removeEventListener("deleted", later);
    live.removeEventListener("uploads", showGoing);
  };
}

const updates = new WeakMap(); // what puts a card in step with its job

function sync(list, jobs) {
  const old = new Map([...list.children].map((card) => [card.dataset.id, card]));
  const cards = jobs.map((job) => {
    const card = old.get(job.id) ?? filmCard(job);
    updates.get(card)(job);
    return card;
  });
  inOrder(list, cards);
}

/** Its link and button stay as they are, whatever else changes: a click may be under way. */
function filmCard({ id, name }) {
  let job = null;
  let state = null;
  let picture = element("div");
  let mark = null;
  let news = null;
  const told = element("p", { className: "quiet" });
  const date = element("span", { className: "quiet" });
  const about = element(
    "div",
    { className: "about" },
    element("h3", {}, element("a", { href: `#/job/${id}`, className: "open" }, name)),
    told,
  );
  const remove = element(
    "button",
    { type: "button", className: "small", ariaLabel: `Delete ${name}`, onclick: attempt(() => deleteJob(job)) },
    "Delete",
  );
  const foot = element("div", { className: "row" }, date, remove);
  const card = element("li", { className: "film", "data-id": id }, picture, about, foot);
  updates.set(card, (now) => {
    job = now;
    const next = JSON.stringify([job.state, job.progress, job.position, job.is_edited, job.failure]);
    if (next === state) return;
    state = next;
    const fresh = cover(job);
    if (!fresh.isEqualNode(picture)) {
      picture.replaceWith(fresh);
      picture = fresh;
    }
    mark?.remove();
    mark = job.state === "done" ? null : badge(job);
    if (mark) about.before(mark);
    told.textContent = facts(job);
    news?.remove();
    news = newsOf(job);
    if (news) about.append(news);
    date.textContent = job.is_edited ? `${when(job.created_at)} · edited` : when(job.created_at);
  });
  return card;
}

function newsOf(job) {
  if (isOpen(job)) return shortProgress(job);
  return job.state === "failed" ? element("p", { className: "bad" }, job.failure.problem) : null;
}

// ---- new ones ----

function dropCard(about) {
  const files = element("input", {
    type: "file",
    accept: "video/*,.mkv,.ts,.mts,.flv,.wmv",
    multiple: true,
    className: "unseen",
    id: "files",
    onchange: () => {
      takeFiles([...files.files], about); // not the list itself, which is emptied next
      files.value = "";
    },
  });
  const budget = element("input", {
    type: "text",
    id: "budget-asked",
    value: wanted.budget,
    size: 7,
    autocomplete: "off",
    spellcheck: false,
    onchange: () => {
      wanted.budget = budget.value.trim() || "15%";
    },
  });
  const settings = [element("label", { htmlFor: "budget-asked" }, "Length ", budget)];
  if (about.models.length > 1) {
    const model = element(
      "select",
      {
        onchange: () => {
          wanted.model = model.value;
        },
      },
      about.models.map((name) =>
        element("option", { value: name, selected: name === (wanted.model ?? about.default_model) }, name),
      ),
    );
    settings.push(element("label", {}, "Model ", model));
  }
  const fast = element("input", {
    type: "checkbox",
    checked: wanted.fast,
    onchange: () => {
      wanted.fast = fast.checked;
    },
  });
  settings.push(element("label", { title: "looks at key frames only" }, fast, " Fast"));
  return element(
    "section",
    { className: "card drop" },
    element(
      "div",
      { className: "bars", "aria-hidden": "true" },
      [5, 9, 6, 14, 18, 8, 5, 12, 20, 11, 6, 9, 4].map(strip),
    ),
    element("h1", {}, "What is worth seeing?"),
    element(
      "p",
      { className: "quiet" },
      "Drop a video anywhere on this page. You get the parts worth seeing, how sure the choice is, and the last word.",
    ),
    element(
      "div",
      { className: "row" },
      element("label", { className: "button main", htmlFor: "files" }, "Choose a video"),
      files,
    ),
    element("div", { className: "settings" }, settings),
    element("p", { className: "quiet small-print" }, "15%, 90s or 1:30 · up to ", bytes(about.max_upload_bytes)),
  );
}

function strip(height) {
  const bar = element("i", { className: height > 11 ? "taken" : "" });
  bar.style.height = `${3 * height}px`;
  return bar;
}

export async function takeFiles(files, about) {
  for (const file of files) {
    if (file.size > about.max_upload_bytes) {
      complain(`${file.name} is larger than ${bytes(about.max_upload_bytes)}, the most that may be uploaded`);
      continue;
    }
    await send(file, files.length === 1);
  }
}

/** One after the other: several at once would only share the line. */
async function send(file, open) {
  const number = uploadNumber++;
  const line = element("span", { className: "quiet" }, "0 %");
  const holder = element("div", {}, progressBar(0, `Uploading ${file.name}`));
  const sending = upload(file, options(), (value) => {
    line.textContent = percent(value);
    holder.replaceChildren(progressBar(value, `Uploading ${file.name}`));
  });
  const item = element(
    "li",
    { className: "card" },
    element("b", {}, file.name),
    holder,
    element(
      "div",
      { className: "row" },
      line,
      element("button", { type: "button", className: "small", onclick: sending.abort }, "Cancel"),
    ),
  );
  uploads.set(number, { item });
  live.dispatchEvent(new Event("uploads"));
  say(`Uploading ${file.name}`);
  try {
    const job = await sending.done;
    live.add(job);
    if (open && location.hash.replace(/^#\/?$/, "") === "") location.hash = `#/job/${job.id}`;
  } catch (error) {
    complain(error);
  } finally {
    uploads.delete(number);
    live.dispatchEvent(new Event("uploads"));
  }
}

// ---- the library ----

function libraryCard() {
  const crumbs = element("nav", { className: "crumbs", ariaLabel: "Folder" });
  const list = element("ul", { className: "entries" });
  const open = attempt(async (path) => {
    const { entries } = await get(`/library?${new URLSearchParams({ path })}`);
    const parts = path ? path.split("/") : [];
    const folders = parts.map((name, n) => [name, parts.slice(0, n + 1).join("/")]);
    crumbs.replaceChildren(
      ...[["Library", ""], ...folders].flatMap(([name, to], n) =>
        [
          n ? element("span", { "aria-hidden": "true" }, "/") : null,
          element("button", { type: "button", className: "link", onclick: () => open(to) }, name),
        ].filter(Boolean),
      ),
    );
    list.replaceChildren(
      ...entries.map((entry) =>
        element(
          "li",
          {},
          element(
            "button",
            { type: "button", onclick: () => (entry.is_folder ? open(entry.path) : submit(entry)) },
            element("span", { className: "kind", "aria-hidden": "true" }, entry.is_folder ? "▸" : "▶"),
            element("span", { className: "name" }, entry.name),
            element("span", { className: "quiet" }, entry.is_folder ? "folder" : bytes(entry.n_bytes)),
          ),
        ),
      ),
    );
    if (!entries.length) list.append(element("li", { className: "quiet" }, "No videos in this folder."));
  });
  const submit = attempt(async (entry) => {
    const job = await call("POST", "/jobs", { library: entry.path, ...options() });
    live.add(job);
    location.hash = `#/job/${job.id}`;
  });
  open("");
  return element(
    "section",
    { className: "card library", ariaLabel: "Library" },
    element("h2", {}, "From the library"),
    crumbs,
    list,
  );
}
