/* Two summaries side by side: the same video under two budgets or models, or any two videos. */
import { call, live, videoUrl } from "/studio-api.js";
import { attempt, budgetControl, facts, loadJob, player, resultFacts } from "/studio-parts.js";
const { element, length, percent } = globalThis.vastsum;

/** The address says what is compared: #/compare/ID:0.15/ID:0.3, where a missing budget stands for the kept selection. */
export function compareView(view, about, ...asked) {
  const done = live.newestFirst.filter((job) => job.state === "done");
  view.append(
    element(
      "header",
      { className: "job-head" },
      element(
        "div",
        {},
        element("h1", {}, "Compare"),
        element(
          "p",
          { className: "quiet" },
          "Budgets, models or videos side by side. What is changed here is only looked at, not kept.",
        ),
      ),
    ),
  );
  if (!done.length) {
    view.append(
      element(
        "p",
        { className: "card" },
        "There is nothing to compare yet: ",
        element("a", { href: "#/" }, "summarise a video"),
        " first.",
      ),
    );
    return () => {};
  }
  const [first, second] = sidesOf(asked, done);
  const overlap = element("section", { className: "card overlap", ariaLabel: "What they share" });
  const sides = [first, second].map((given, n) => makeSide(n, given, done, changed));
  view.append(
    element(
      "div",
      { className: "sides" },
      sides.map((side) => side.box),
    ),
    overlap,
    anotherCard(about, () => sides[0].job),
  );

  function changed() {
    const parts = sides.map(({ job, timeline }) =>
      timeline?.draft ? `${job.id}:${Number(timeline.budget.toFixed(6))}` : job.id,
    );
    history.replaceState(null, "", `#/compare/${parts.join("/")}`);
    showOverlap(overlap, sides);
  }
  return () => sides.forEach((side) => side.close());
}

function sidesOf(asked, done) {
  const given = asked
    .map((text) => {
      const [id, budget] = text.split(":");
      return { job: done.find((job) => job.id === id), budget: budget ? Number(budget) : null };
    })
    .filter(({ job }) => job);
  const first = given[0] ?? { job: done[0], budget: null };
  const sibling = done.find((job) => job.id !== first.job.id && job.name === first.job.name);
  // Another summary of the same video, or else the same one at twice the length.
  const other = sibling
    ? { job: sibling, budget: null }
    : { job: first.job, budget: Math.min(2 * first.job.video.budget, 1) };
  return [first, given[1] ?? other];
}

function makeSide(n, given, done, changed) {
  const name = n ? "Right" : "Left";
  const inside = element("div", { className: "side-body" });
  const choose = element(
    "select",
    {
      ariaLabel: `${name}: which summary`,
      onchange: () =>
        load(
          done.find((job) => job.id === choose.value),
          null,
        ),
    },
    done.map((job) => element("option", { value: job.id }, `${job.name} · ${facts(job)}`)),
  );
  const side = {
    box: element("section", { className: "card side", ariaLabel: name }, choose, inside),
    job: given.job,
    timeline: null,
    close: () => side.video?.pause(),
  };

  const load = attempt(async (job, budget) => {
    side.close();
    Object.assign(side, { job, timeline: null });
    choose.value = job.id;
    const loaded = await loadJob(job);
    const timeline = document.createElement("vastsum-timeline");
    const { video, box } = player(videoUrl(job), job.name);
    const control = budgetControl(timeline, loaded.summary.budget.fraction);
    const result = element("dl", { className: "facts" });
    const show = () => {
      control.show();
      result.replaceChildren(...resultFacts(timeline.summary));
      changed();
    };
    inside.replaceChildren(box, element("div", { className: "length" }, control.parts), timeline, result);
    timeline.load({ ...loaded, edits: budget ? { budget, starts: null, held: [] } : loaded.edits, video });
    Object.assign(side, { timeline, video });
    timeline.addEventListener("change", show);
    timeline.seek(timeline.summary.segments.find((segment) => segment.selected).start_s);
    show();
  });
  load(given.job, given.budget);
  return side;
}

// ---- what they share ----

function showOverlap(card, sides) {
  const [left, right] = sides.map(({ timeline }) => timeline?.draft && timeline.summary);
  card.hidden = !left || !right || Math.abs(left.video.duration_s - right.video.duration_s) > 0.5;
  if (card.hidden) return;
  const [a, b] = [left, right].map((summary) => summary.segments.filter((segment) => segment.selected));
  const both_s = shared(a, b);
  const parts = [
    ["only-left", "only left", left.summary.duration_s - both_s],
    ["both", "in both", both_s],
    ["only-right", "only right", right.summary.duration_s - both_s],
  ];
  const all_s = parts.reduce((sum, [, , seconds]) => sum + seconds, 0);
  card.replaceChildren(
    element("h2", {}, "What they share"),
    element(
      "div",
      { className: "shares" },
      parts.map(([kind, what, seconds]) => {
        const piece = element(
          "div",
          { className: kind, hidden: seconds < 1e-6 },
          element("b", {}, length(Math.max(seconds, 0))),
          element("span", {}, what),
        );
        piece.style.flexGrow = String(Math.max(seconds, 0) / all_s);
        return piece;
      }),
    ),
    element("p", { className: "quiet" }, `${percent(both_s / all_s)} of what either shows is in both.`),
  );
}

/** Seconds that lie in segments of both; each list is sorted and does not overlap itself. */
function shared(a, b) {
  let total = 0;
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    total += Math.max(Math.min(a[i].end_s, b[j].end_s) - Math.max(a[i].start_s, b[j].start_s), 0);
    if (a[i].end_s < b[j].end_s) i++;
    else j++;
  }
  return total;
}

/** The left video once more, in another way. */
function anotherCard(about, left) {
  const model = element(
    "select",
    {},
    about.models.map((name) => element("option", { value: name }, name)),
  );
  const fast = element("input", { type: "checkbox" });
  const submit = attempt(async () => {
    const job = await call("POST", "/jobs", {
      job: left().id,
      budget: left().budget,
      model: model.value,
      fast: fast.checked,
    });
    live.add(job);
    location.hash = `#/job/${job.id}`;
  });
  return element(
    "section",
    { className: "card another" },
    element("h2", {}, "Another way"),
    element(
      "p",
      { className: "quiet" },
      "Summarise the left video again with another model, or in haste, and compare the two.",
    ),
    element(
      "div",
      { className: "settings" },
      element("label", {}, "Model ", model),
      element("label", {}, fast, " Fast"),
      element("button", { type: "button", onclick: submit }, "Summarise again"),
    ),
  );
}
