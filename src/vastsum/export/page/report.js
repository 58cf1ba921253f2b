/* The report: fills the page from its embedded data and keeps it in step with the timeline. */
"use strict";
(function (vastsum) {
  const { element, timecode, length, percent } = vastsum;
  const CLOSE = 0.8; // below this stability a choice is a close call
  const MAX_CALLS = 12,
    MAX_SCENES = 200,
    MAX_CHIPS = 12;
  const REST_MS = 60;

  const data = JSON.parse(document.getElementById("data").textContent);
  const part = (id) => document.getElementById(id);
  const timeline = document.querySelector("vastsum-timeline");
  const video = part("video");
  const slider = part("budget");
  let resting;

  function start() {
    const { summary, name, made } = data;
    part("title").textContent = name;
    part("made").append(
      ...made.map(([what, value]) => element("div", {}, element("dt", {}, what), element("dd", {}, value))),
    );
    video.addEventListener("error", missVideo);
    video.src = data.video;
    timeline.load({ summary, starts: data.starts, thumbnails: data.thumbnails, video });
    setUpBudget(summary.budget.fraction);
    timeline.addEventListener("change", show);
    timeline.addEventListener("select", () => markAtHand());
    part("reset").onclick = () => timeline.reset();
    part("download").onclick = download;
    part("choose").onchange = ({ target }) => {
      if (target.files[0]) showVideo(URL.createObjectURL(target.files[0]));
    };
    openAtTheBest(summary);
    show();
  }

  function openAtTheBest({ segments }) {
    const best = segments.reduce((a, b) => (b.selected && (!a.selected || b.importance > a.importance) ? b : a));
    timeline.seek(timeline.draft.timeOf(timeline.draft.highlight(best)));
    timeline.select(segments.indexOf(best));
  }

  // ---- video ----

  function missVideo() {
    video.hidden = true;
    part("missing").hidden = false;
    part("expected").textContent = data.expected;
  }

  function showVideo(url) {
    video.src = url;
    video.hidden = false;
    part("missing").hidden = true;
  }

  // ---- budget ----

  function setUpBudget(fraction) {
    part("ticks").append(...vastsum.budgetTicks(slider, timeline, fraction));
  }

  function showBudget(summary) {
    const { fraction, seconds } = summary.budget;
    const shown = percent(fraction, Number.isInteger(Math.round(1e6 * fraction) / 1e4) ? 0 : 1);
    part("share").value = shown;
    part("seconds").textContent = `at most ${length(seconds)}`;
    slider.value = String(100 * fraction);
    slider.ariaValueText = `${shown}, ${length(seconds)}`;
  }

  // ---- everything that follows the selection ----

  /** Figures at once; pictures and what takes further knapsacks once the hand rests. */
  function show() {
    const { summary, draft } = timeline;
    const chosen = indexed(summary).filter(({ segment }) => segment.selected);
    part("facts").textContent =
      `${length(summary.summary.duration_s)} of ${length(summary.video.duration_s)}, ` +
      `${chosen.length} of ${summary.segments.length} segments${draft.isEdited ? ", edited here" : ""}`;
    part("reset").disabled = !draft.isEdited;
    showBudget(summary);
    showResult(summary, chosen);
    clearTimeout(resting);
    resting = setTimeout(() => {
      showScenes(chosen);
      showChanges("shorter", 0.1);
      showChanges("longer", 0.2);
      showCalls(summary);
    }, REST_MS);
  }

  const indexed = (summary) => summary.segments.map((segment, k) => ({ segment, k }));

  function showResult(summary, chosen) {
    const firm = chosen.filter(({ segment }) => segment.stability >= CLOSE).length;
    const rows = [
      ["Summary", length(summary.summary.duration_s)],
      ["Share of the video", percent(summary.summary.fraction, 1)],
      ["Segments", `${chosen.length} of ${summary.segments.length}`],
      ["Firm choices", `${firm} of ${chosen.length}`],
    ];
    part("result").replaceChildren(
      ...rows.flatMap(([what, value]) => [element("dt", {}, what), element("dd", {}, value)]),
    );
  }

  function picture({ start_frame, end_frame }) {
    const time_s = timeline.draft.timeOf(timeline.draft.highlight({ start_frame, end_frame }));
    const src = timeline.thumbnailAt(time_s);
    return src ? element("img", { src, alt: "", decoding: "async" }) : null;
  }

  function playFrom(k) {
    timeline.select(k);
    timeline.seek(timeline.summary.segments[k].start_s);
    timeline.play();
  }

  function showScenes(chosen) {
    const strongest = Math.max(...chosen.map(({ segment }) => segment.importance), 1e-9);
    const shown = [...chosen]
      .sort((a, b) => b.segment.importance - a.segment.importance)
      .slice(0, MAX_SCENES)
      .sort((a, b) => a.k - b.k);
    part("storyboard-note").textContent =
      shown.length < chosen.length
        ? `the ${shown.length} most important of ${chosen.length}`
        : "what the summary shows, in order";
    part("storyboard").replaceChildren(
      ...shown.map(({ segment, k }) => {
        const bar = element("i");
        bar.style.transform = `scaleX(${Math.max(segment.importance / strongest, 0)})`;
        const time = `${timecode(segment.start_s, 1)}`;
        const held = timeline.draft.heldAt(k) !== undefined;
        return element(
          "li",
          { className: "scene", "data-k": k },
          element(
            "button",
            { type: "button", className: "still", ariaLabel: `Play from ${time}`, onclick: () => playFrom(k) },
            picture(segment),
            element("span", {}, time),
          ),
          element(
            "div",
            { className: "about" },
            element(
              "div",
              { className: "row" },
              element("b", {}, length(segment.end_s - segment.start_s)),
              element("span", { className: "quiet" }, held ? "by hand" : `${percent(segment.stability)} stable`),
            ),
            element("div", { className: "bar", title: "importance" }, bar),
            element(
              "div",
              { className: "row" },
              element(
                "span",
                { className: "quiet" },
                `${segment.importance.toFixed(2)} ± ${segment.uncertainty.toFixed(2)}`,
              ),
              element(
                "button",
                {
                  type: "button",
                  className: "small",
                  ariaLabel: `Take out the segment at ${time}`,
                  onclick: () => timeline.toggle(k),
                },
                "Take out",
              ),
            ),
          ),
        );
      }),
    );
    markAtHand();
  }

  function markAtHand() {
    for (const scene of part("storyboard").children)
      scene.classList.toggle("at-hand", Number(scene.dataset.k) === timeline.current);
  }

  function showChanges(id, fraction) {
    const { joins, leaves, duration_s } = timeline.draft.changesAt(fraction);
    part(`${id}-title`).textContent = `At ${percent(fraction)}`;
    const chips = (segments) =>
      element(
        "div",
        { className: "chips" },
        segments
          .slice(0, MAX_CHIPS)
          .map((segment) =>
            element(
              "button",
              {
                type: "button",
                className: "chip",
                ariaLabel: `Go to ${timecode(segment.start_s)}`,
                onclick: () => timeline.seek(segment.start_s),
              },
              picture(segment),
              `${timecode(segment.start_s)} + ${length(segment.end_s - segment.start_s)}`,
            ),
          ),
        segments.length > MAX_CHIPS
          ? element("span", { className: "quiet" }, `and ${segments.length - MAX_CHIPS} more`)
          : null,
      );
    const same = joins.length + leaves.length === 0;
    const said = `The summary would last ${length(duration_s)}${same ? ", with the same segments" : ""}.`;
    part(id).replaceChildren(
      element("p", { className: "quiet" }, said),
      ...(joins.length ? [element("p", { className: "joins" }, `+ ${joins.length} would join`), chips(joins)] : []),
      ...(leaves.length
        ? [element("p", { className: "leaves" }, `− ${leaves.length} would leave`), chips(leaves)]
        : []),
    );
  }

  function showCalls(summary) {
    const unsure = indexed(summary)
      .filter(({ segment, k }) => segment.stability < CLOSE && timeline.draft.heldAt(k) === undefined)
      .sort((a, b) => a.segment.stability - b.segment.stability);
    part("calls-note").textContent = unsure.length
      ? "Viewers who differ as much as the model expects would not agree on these. Yours to decide."
      : `None: every choice holds in at least ${percent(CLOSE)} of the summaries chosen for viewers who differ.`;
    part("calls").replaceChildren(
      ...unsure.slice(0, MAX_CALLS).map(({ segment, k }) => {
        const time = timecode(segment.start_s, 1);
        return element(
          "li",
          {},
          element(
            "button",
            { type: "button", className: "still", ariaLabel: `Play from ${time}`, onclick: () => playFrom(k) },
            picture(segment),
          ),
          element(
            "div",
            { className: "said" },
            element("b", {}, `${time} + ${length(segment.end_s - segment.start_s)}`),
            element(
              "div",
              { className: "quiet" },
              `${segment.selected ? "chosen" : "left out"}, agreed on by ${percent(segment.stability)}`,
            ),
          ),
          element(
            "button",
            {
              type: "button",
              ariaLabel: `${segment.selected ? "Take out" : "Put in"} the segment at ${time}`,
              onclick: () => timeline.toggle(k),
            },
            segment.selected ? "Take out" : "Put in",
          ),
        );
      }),
    );
    if (unsure.length > MAX_CALLS)
      part("calls").append(
        element(
          "li",
          { className: "quiet" },
          `and ${unsure.length - MAX_CALLS} more, seen in the timeline by their colour`,
        ),
      );
  }

  function download() {
    const text = JSON.stringify(timeline.summary, null, 1);
    const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    element("a", { href: url, download: data.download }).click();
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  }

  start();
})(globalThis.vastsum);
