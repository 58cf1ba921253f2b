/* Pieces that several views are made of. */
import { ApiError, call, live, thumbnails } from "/studio-api.js";
const { budgetTicks, element, length, percent, timecode } = globalThis.vastsum;

const STAGES = ["opening", "loading models", "watching", "segmenting", "scoring", "taking thumbnails"];
const STATES = { queued: "waiting", running: "working", done: "done", failed: "failed", cancelled: "cancelled" };

export const isOpen = (job) => job.state === "queued" || job.state === "running";

export function say(text) {
  document.getElementById("said").textContent = text;
}

/** A message that stays until it is closed; for what went wrong. */
export function complain(error) {
  const problem = error instanceof ApiError ? error.message : String(error);
  const note = element(
    "div",
    { className: "toast", role: "alert" },
    element("p", {}, problem),
    element("button", { type: "button", className: "icon", ariaLabel: "Close", onclick: () => note.remove() }, "×"),
  );
  document.body.append(note);
}

/** Runs what a button does; whatever goes wrong is said. */
export const attempt =
  (work) =>
  async (...given) => {
    try {
      return await work(...given);
    } catch (error) {
      complain(error);
      return undefined;
    }
  };

export function sure(title, text) {
  const dialog = document.getElementById("sure");
  document.getElementById("sure-title").textContent = title;
  document.getElementById("sure-text").textContent = text;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.onclose = () => resolve(dialog.returnValue === "yes");
  });
}

export async function deleteJob(job) {
  const video =
    job.library_path === null ? "the uploaded copy of the video" : "not the video, which stays in the library";
  const text = isOpen(job)
    ? "It stops, and what it has made so far is removed."
    : `Its summary, your changes and its exports are removed, and ${video}.`;
  if (!(await sure(`Delete “${job.name}”?`, text))) return;
  await call("DELETE", `/jobs/${job.id}`);
  live.drop(job.id);
  say(`${job.name} deleted`);
}

export function badge(job) {
  return element("span", { className: `badge ${job.state}` }, STATES[job.state]);
}

/** How far a stage is: a number from 0 to 1, or null where nobody knows. */
export function share(progress) {
  return progress?.total ? Math.min(progress.done / progress.total, 1) : null;
}

/** Children in this order and no others. Those that are there stay: taken out for a moment, they would lose focus, and a
 * click that is under way. */
export function inOrder(list, children) {
  let place = list.firstElementChild;
  for (const child of children) {
    if (child === place) place = place.nextElementSibling;
    else list.insertBefore(child, place);
  }
  while (place) {
    const next = place.nextElementSibling;
    place.remove();
    place = next;
  }
}

export function progressBar(value, label) {
  const fill = element("i");
  fill.style.transform = `scaleX(${value ?? 1})`;
  const bar = element(
    "div",
    { className: value === null ? "progress unknown" : "progress", role: "progressbar", ariaLabel: label },
    fill,
  );
  if (value !== null)
    Object.assign(bar, { ariaValueMin: "0", ariaValueMax: "100", ariaValueNow: String(Math.round(100 * value)) });
  return bar;
}

export function shortProgress(job) {
  if (job.state === "queued") return progressLine(null, job.position ? `${job.position} before it` : "next in line");
  const { progress } = job;
  if (!progress) return progressLine(null, "starting");
  const value = share(progress);
  return progressLine(value, value === null ? progress.stage : `${progress.stage}, ${percent(value)}`);
}

function progressLine(value, text) {
  return element(
    "div",
    { className: "progress-line" },
    progressBar(value, text),
    element("span", { className: "quiet" }, text),
  );
}

/** Every stage, those behind ticked, the one under way with its bar. */
export function stages(job) {
  const at = job.state === "queued" ? -1 : Math.max(STAGES.indexOf(job.progress?.stage), 0);
  return element(
    "ol",
    { className: "stages" },
    STAGES.map((stage, n) => {
      const state = n < at ? "past" : n === at ? "now" : "to-come";
      const item = element("li", { className: state }, element("b", {}, stage));
      if (state === "now") {
        item.setAttribute("aria-current", "step");
        const { done, total } = job.progress ?? {};
        const text = total ? `${timecode(done)} of ${timecode(total)}` : "";
        item.append(element("span", { className: "quiet" }, text), progressBar(share(job.progress), stage));
      }
      return item;
    }),
  );
}

/** The picture nearest to what matters most in a video, or a blank. */
export function cover(job) {
  const all = thumbnails(job);
  const best = all[job.video?.cover];
  return element(
    "div",
    { className: "cover" },
    best ? element("img", { src: best.src, alt: "", loading: "lazy" }) : null,
  );
}

export function facts(job) {
  const parts = [job.video ? length(job.video.duration_s) : bytes(job.n_bytes), `budget ${job.budget}`];
  if (job.model !== "vastsum") parts.push(job.model);
  if (job.fast) parts.push("fast");
  return parts.join(" · ");
}

export function bytes(n) {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  const power = Math.min(Math.floor(Math.log10(Math.max(n, 1)) / 3), units.length - 1);
  return power ? `${(n / 1000 ** power).toPrecision(3)} ${units[power]}` : `${n} bytes`;
}

export const when = (seconds) =>
  new Date(1000 * seconds).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });

/** A slider and marks that set a timeline's budget, with the length in large. `show` puts it in step. */
export function budgetControl(timeline, asked) {
  const slider = element("input", {
    type: "range",
    step: "0.5",
    ariaLabel: "Budget: how much of the video the summary may last",
  });
  const ticks = budgetTicks(slider, timeline, asked);
  const figure = element("output"),
    seconds = element("span", { className: "quiet" });
  function show() {
    const { budget } = timeline.summary;
    const shown = percent(budget.fraction, Number.isInteger(Math.round(1e6 * budget.fraction) / 1e4) ? 0 : 1);
    figure.value = shown;
    seconds.textContent = `at most ${length(budget.seconds)}`;
    slider.value = String(100 * budget.fraction);
    slider.ariaValueText = `${shown}, ${length(budget.seconds)}`;
  }
  const parts = [
    element("p", { className: "figure" }, figure, seconds),
    slider,
    element("div", { className: "ticks" }, ticks),
  ];
  return { parts, slider, show };
}

/** The original; where the browser knows no way to play it, a word about that in its place. */
export function player(url, name) {
  const video = element("video", { src: url, preload: "metadata", controls: true, playsInline: true, ariaLabel: name });
  const note = element(
    "p",
    { className: "unplayable", hidden: true },
    "This browser cannot play the original. Selecting and exporting work all the same: an mp4 of the summary plays everywhere.",
  );
  video.addEventListener("error", () => {
    video.hidden = true;
    note.hidden = false;
  });
  return { video, box: element("section", { className: "player card", ariaLabel: "Video" }, video, note) };
}

/** Everything a timeline needs to know about a finished job. */
export async function loadJob(job) {
  const [summary, selection] = await Promise.all([
    call("GET", `/jobs/${job.id}/result?edited=false`),
    call("GET", `/jobs/${job.id}/selection`),
  ]);
  const { edits } = selection;
  const isEdited = edits.budget !== summary.budget.fraction || edits.starts !== null || edits.held.length > 0;
  return { summary, edits: isEdited ? edits : undefined, thumbnails: thumbnails(job) };
}

export function resultFacts(summary) {
  const rows = [
    ["Summary", length(summary.summary.duration_s)],
    ["Share of the video", percent(summary.summary.fraction, 1)],
    ["Pieces", String(vastsum.pieces(summary).length)],
    ["How sure", vastsum.howSure(summary)],
  ];
  return rows.flatMap(([what, value]) => [element("dt", {}, what), element("dd", {}, value)]);
}
