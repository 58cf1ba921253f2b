/* The report: fills the page from its embedded data and keeps it in step with the timeline. */
"use strict";
(function (vastsum) {
  const { element, timecode, length, percent } = vastsum;
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
    timeline.load({ summary, thumbnails: data.thumbnails, video });
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
    const pieces = vastsum.pieces(summary);
    part("facts").textContent =
      `${length(summary.summary.duration_s)} of ${length(summary.video.duration_s)}, ` +
      `${pieces.length} ${pieces.length === 1 ? "piece" : "pieces"}${draft.isEdited ? ", edited here" : ""}` +
      (summary.nothing_stands_out ? ". Nothing stands out in this video; this is an even sample." : "");
    part("reset").disabled = !draft.isEdited;
    showBudget(summary);
    showResult(summary, pieces);
    clearTimeout(resting);
    resting = setTimeout(() => {
      showScenes(pieces);
      showChanges("shorter", 0.1);
      showChanges("longer", 0.2);
      showCalls(summary);
    }, REST_MS);
  }

  /** Chosen although few would, or left out although many would. */
  const isClose = ({ selected, chance }) => (selected ? chance < vastsum.LIKELY : chance >= vastsum.LIKELY);
  const surprise = ({ selected, chance }) => (selected ? vastsum.LIKELY - chance : chance - vastsum.LIKELY);

  const indexed = (summary) => summary.segments.map((segment, k) => ({ segment, k }));

  function showResult(summary, pieces) {
    const rows = [
      ["Summary", length(summary.summary.duration_s)],
      ["Share of the video", percent(summary.summary.fraction, 1)],
      ["Pieces", String(pieces.length)],
      ["How sure", vastsum.howSure(summary)],
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

  function showScenes(pieces) {
    const strongest = Math.max(...pieces.map(({ importance }) => importance), 1e-9);
    const shown = [...pieces]
      .sort((a, b) => b.importance - a.importance)
      .slice(0, MAX_SCENES)
      .sort((a, b) => a.start_frame - b.start_frame);
    part("storyboard-note").textContent =
      shown.length < pieces.length
        ? `the ${shown.length} most important of ${pieces.length}`
        : "what the summary shows, in order";
    part("storyboard").replaceChildren(
      ...shown.map((piece) => {
        const bar = element("i");
        bar.style.transform = `scaleX(${Math.max(piece.importance / strongest, 0)})`;
        const time = `${timecode(piece.start_s, 1)}`;
        const held = piece.ks.some((k) => timeline.draft.heldAt(k) !== undefined);
        return element(
          "li",
          { className: "scene", "data-ks": piece.ks.join(" ") },
          element(
            "button",
            {
              type: "button",
              className: "still",
              ariaLabel: `Play from ${time}`,
              onclick: () => playFrom(piece.ks[0]),
            },
            picture(piece),
            element("span", {}, time),
          ),
          element(
            "div",
            { className: "about" },
            element(
              "div",
              { className: "row" },
              element("b", {}, length(piece.end_s - piece.start_s)),
              element("span", { className: "quiet" }, held ? "by hand" : vastsum.inWords(piece.chance)),
            ),
            element("div", { className: "bar", title: "importance" }, bar),
            element(
              "div",
              { className: "row" },
              element("span", { className: "quiet" }, vastsum.sureness(piece.chance)),
              element(
                "button",
                {
                  type: "button",
                  className: "small",
                  ariaLabel: `Take out the piece at ${time}`,
                  onclick: () => timeline.toggle(...piece.ks),
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
      scene.classList.toggle("at-hand", scene.dataset.ks.split(" ").includes(String(timeline.current)));
  }

  function showChanges(id, fraction) {
    const { joins, leaves, duration_s } = timeline.draft.changesAt(fraction);
    part(`${id}-title`).textContent = `At ${percent(fraction)}`;
    const chips = (segments) =>
      element(
        "div",
        { className: "chips" },
        segments.slice(0, MAX_CHIPS).map((segment) =>
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
      .filter(({ segment, k }) => isClose(segment) && timeline.draft.heldAt(k) === undefined)
      .sort((a, b) => surprise(b.segment) - surprise(a.segment));
    part("calls-note").textContent = unsure.length
      ? "People would as soon decide otherwise about these. Yours to decide."
      : "None: what is chosen is what people would likely choose.";
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
              `${segment.selected ? "chosen" : "left out"}, ${vastsum.sureness(segment.chance)}`,
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
