/* <vastsum-timeline>: a summary to look at, to play and to change.

   A page needs theme.css, timeline.css and, in this order, common.js, knapsack.js, draft.js, painter.js, timeline.js:
   plain scripts without modules, so that they can be inlined into one file or served under a strict content-security
   policy (no inline script, no inline style). Everything lives on the global object `vastsum`.

     const timeline = document.querySelector("vastsum-timeline");
     timeline.load({
       summary,      content of a summary.json, version 2
       thumbnails,   [{ time_s, src }, …] pictures of the video, sorted by time; src is any URL. May be empty
       video,        the <video> that shows the original, or null. The playhead follows it and moves it
       edits,        optional: what `timeline.edits` gave earlier
     });

   To read        timeline.summary    the summary as it now stands, the same format: what to show, save and export
                  timeline.edits      what was changed by hand and the budget, as a small JSON value
                  timeline.draft      the vastsum.Draft behind it (changesAt(budget), isEdited, canUndo, …)
                  timeline.time_s, timeline.current (index of the segment at hand), timeline.isPlayingSummary
   To do          timeline.budget = 0.1, timeline.toggle(k, …), timeline.moveBoundary(k, frame), timeline.undo(),
                  timeline.reset(), timeline.edits = edits, timeline.seek(time_s), timeline.select(k),
                  timeline.play(), timeline.playSummary() (skips what is not chosen), timeline.pause(),
                  timeline.zoom(factor), timeline.showAll(), timeline.thumbnailAt(time_s) -> src or null

   Events (CustomEvent, bubbling; what is told is in event.detail)
     seek      { time_s }                        the playhead was moved here, by pointer or key
     select    { k, segment }                    another segment is at hand
     toggle    { k, selected }                   segment k was put in or taken out by hand
     boundary  { k, frame, time_s }              segment k now starts here
     budget    { fraction }                      another budget was set
     change    { summary, edits, reason }        after each of the last three, after undo, reset and restored edits
     mode      { playing, summary }              playing began or ended; `summary`: only the chosen segments

   Pointer: click seeks, double click puts a segment in or out, dragging an edge in the lane of segments moves it (to a hard cut
   or a pause in speech nearby, unless Alt is held);
   dragging the ruler or the pictures scrubs, dragging below them pans; Ctrl + wheel or two fingers zoom, the strip at
   the bottom pans. Keys: see KEYS. A video of ten hours (72 000 picks, thousands of segments) is no trouble: painter.js
   draws only what falls on a pixel. */
"use strict";
(function (vastsum) {
  const { element, timecode, length } = vastsum;

  const KEYS = [
    ["Space", "play or pause"],
    ["P", "play the summary"],
    ["← →", "one second back or on (Shift: ten)"],
    [", .", "one frame back or on"],
    ["↑ ↓", "segment before or after"],
    ["Enter", "put the segment in or take it out"],
    ["I", "let the segment start here"],
    ["O", "let the segment end here"],
    ["+ −", "zoom in or out"],
    ["0", "show all"],
    ["Ctrl Z", "undo"],
  ];
  const INTO_FRAME_S = 0.002; // the video is put a little into a frame, where rounding cannot show the one before
  const MIN_SPAN_S = 0.5; // as far as one can zoom in
  const CLICK_REACH_PX = 4,
    EDGE_REACH_PX = 6,
    TOUCH_REACH_PX = 16;
  const SNAP_S = 0.3; // an edge that is dragged this near to a hard cut or a pause moves there; with Alt it does not

  const ICONS = {
    play: "M8 5v14l11-7z",
    pause: "M6 5h4v14H6zM14 5h4v14h-4z",
    highlights: "M4 5v14l8-7zM13 5v14l8-7z",
    zoomIn: "M11 5h2v6h6v2h-6v6h-2v-6H5v-2h6z",
    zoomOut: "M5 11h14v2H5z",
    all: "M4 9V4h5v2H6v3zM15 4h5v5h-2V6h-3zM4 15h2v3h3v2H4zM18 15h2v5h-5v-2h3z",
    undo: "M12 6V2L6 7l6 5V8a5 5 0 1 1-5 5H5a7 7 0 1 0 7-7z",
  };

  /** A small picture for a button: vastsum.icon("play"). */
  vastsum.icon = function (name) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    svg.setAttribute("viewBox", "0 0 24 24");
    svg.setAttribute("aria-hidden", "true");
    path.setAttribute("d", ICONS[name]);
    svg.append(path);
    return svg;
  };

  class Timeline extends HTMLElement {
    draft = null;
    time_s = 0;
    current = 0;
    isPlayingSummary = false;
    #parts = null;
    #video = null;
    #watching = null;
    #letGo = null;
    #view = new vastsum.View();
    #painter = null;
    #isDrawing = false;
    #pointers = new Map();
    #drag = null;
    #hovered = null;
    #pointer = null; // where it hovered last
    #isOpening = false; // a page seeks for a picture to open with
    #isPlaced = false; // whether anyone has moved the playhead since
    #counted = null; // how many segments there were, and where the one at hand began

    connectedCallback() {
      if (!this.#parts) this.#build();
      const recolour = () => {
        this.#painter.forgetColours();
        this.#draw();
      };
      const size = new ResizeObserver(() => this.#draw());
      const theme = new MutationObserver(recolour);
      const system = matchMedia("(prefers-color-scheme: dark)");
      size.observe(this);
      theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
      system.addEventListener("change", recolour);
      this.#watch(this.#video);
      this.#letGo = () => {
        size.disconnect();
        theme.disconnect();
        system.removeEventListener("change", recolour);
        this.#watching.abort();
      };
    }

    disconnectedCallback() {
      this.#letGo();
    }

    load({ summary, thumbnails = [], video = null, edits }) {
      this.draft = new vastsum.Draft(summary);
      if (edits) this.draft.edits = edits;
      this.#painter.load(this.draft, thumbnails);
      [this.#view.from_s, this.#view.span_s] = [0, summary.video.duration_s];
      this.time_s = 0;
      [this.#isOpening, this.#isPlaced] = [true, false];
      setTimeout(() => (this.#isOpening = false));
      this.current = Math.max(
        this.summary.segments.findIndex((segment) => segment.selected),
        0,
      );
      this.#counted = { n: this.summary.segments.length };
      this.#watch(video);
      this.#changed("load", {}, { quietly: true });
    }

    // ---- what a page asks for and does ----

    get summary() {
      return this.draft.summary;
    }
    get duration_s() {
      return this.summary.video.duration_s;
    }
    get video() {
      return this.#video;
    }
    get edits() {
      return this.draft.edits;
    }
    set edits(edits) {
      this.draft.edits = edits;
      this.#changed("edits");
    }
    get budget() {
      return this.draft.budget;
    }
    set budget(fraction) {
      this.draft.setBudget(fraction);
      this.#changed("budget", { fraction });
    }

    toggle(k, ...others) {
      const { start_frame, selected } = this.summary.segments[k];
      if (!this.draft.toggle(k, ...others)) return this.#say("A summary is never empty: put another segment in first.");
      this.#changed("toggle", { k, selected: !selected });
      this.#say(`Segment at ${timecode(this.draft.timeOf(start_frame))} ${selected ? "taken out" : "put in"}.`);
    }

    moveBoundary(k, frame) {
      if (!this.draft.moveBoundary(k, frame)) return;
      const { start_frame, start_s } = this.summary.segments[k];
      this.#changed("boundary", { k, frame: start_frame, time_s: start_s });
      this.#say(`Segment now starts at ${timecode(start_s, 2)}.`);
    }

    undo() {
      this.draft.undo();
      this.#changed("undo");
    }
    reset() {
      this.draft.reset();
      this.#changed("reset");
    }

    seek(time_s) {
      this.#isPlaced = !this.#isOpening;
      this.isPlayingSummary &&= this.#segmentAt(time_s).selected;
      this.#goTo(time_s);
      this.#tell("seek", { time_s: this.time_s });
    }

    select(k) {
      if (k < 0 || k >= this.summary.segments.length) return;
      this.current = k;
      this.#counted.start_s = this.summary.segments[k].start_s;
      this.#tell("select", { k, segment: this.summary.segments[k] });
      this.#draw();
    }

    play() {
      this.isPlayingSummary = false;
      return this.#play();
    }

    playSummary() {
      this.isPlayingSummary = true;
      const chosen = this.summary.segments.filter((segment) => segment.selected);
      const from_s = this.#isPlaced ? this.time_s : 0;
      const isWithin = this.#segmentAt(from_s).selected && from_s < chosen.at(-1).end_s - 0.05;
      if (!isWithin || !this.#isPlaced) {
        this.#goTo((chosen.find((segment) => segment.start_s >= from_s) ?? chosen[0]).start_s);
      }
      return this.#play();
    }

    pause() {
      this.#video?.pause();
    }

    zoom(factor, about_s = this.#view.shows(this.time_s) ? this.time_s : this.#view.middle_s) {
      const span = Math.min(Math.max(this.#view.span_s / factor, MIN_SPAN_S), this.duration_s);
      const share = (about_s - this.#view.from_s) / this.#view.span_s;
      this.#show(about_s - share * span, span);
    }

    showAll() {
      this.#show(0, this.duration_s);
    }

    thumbnailAt(time_s) {
      return this.#painter.thumbnailAt(time_s);
    }

    // ---- parts ----

    #build() {
      const button = (name, label, onclick) =>
        element(
          "button",
          { type: "button", className: "icon", title: label, ariaLabel: label, onclick },
          vastsum.icon(name),
        );
      const picture = element("canvas", { "aria-hidden": "true" });
      const playhead = element("div", { className: "playhead" });
      const tip = element("div", { className: "tip", hidden: true, "aria-hidden": "true" });
      const stage = element(
        "div",
        { className: "stage", tabIndex: 0, role: "slider", ariaLabel: "Timeline" },
        picture,
        playhead,
      );
      const whole = element("canvas", { "aria-hidden": "true" });
      const window_ = element("div", { className: "window" });
      const overview = element("div", { className: "overview", "aria-hidden": "true" }, whole, window_);
      const clock = element("span", { className: "clock" });
      const play = button("play", "Play or pause (Space)", () => this.#playOrPause());
      const highlights = element("button", {
        type: "button",
        className: "main",
        title: "Play only what is chosen (P)",
        onclick: () => (this.isPlayingSummary && !this.#video.paused ? this.pause() : this.playSummary()),
      });
      const undo = button("undo", "Undo (Ctrl Z)", () => this.undo());
      const tools = element(
        "div",
        { className: "tools", role: "toolbar", ariaLabel: "Timeline controls" },
        highlights,
        play,
        clock,
        element("span", { className: "space" }),
        undo,
        button("zoomOut", "Zoom out (−)", () => this.zoom(1 / 2)),
        button("zoomIn", "Zoom in (+)", () => this.zoom(2)),
        button("all", "Show all (0)", () => this.showAll()),
      );
      const facts = element("p");
      const flip = element("button", { type: "button", onclick: () => this.toggle(this.current) });
      const said = element("p", { className: "unseen", role: "status", ariaLive: "polite" });
      const keys = element(
        "details",
        {},
        element("summary", {}, "Keys"),
        element(
          "div",
          { className: "keys" },
          KEYS.map(([key, what]) =>
            element("span", {}, ...key.split(" ").flatMap((one) => [element("kbd", {}, one), " "]), what),
          ),
        ),
      );
      const mark = (of, text) => element("span", {}, element("i", { className: of }), text);
      const legend = element(
        "div",
        { className: "legend" },
        mark("of-curve", "importance"),
        mark("of-band", "± how sure the mean of people is"),
        mark("of-chosen", "chosen: the stronger, the likelier"),
        mark("of-left-out", "left out: the greyer, the surer"),
      );
      this.replaceChildren(
        stage,
        overview,
        tip,
        legend,
        tools,
        element("div", { className: "current" }, facts, flip),
        keys,
        said,
      );
      this.#parts = {
        playhead,
        tip,
        stage,
        window: window_,
        overview,
        clock,
        play,
        highlights,
        undo,
        facts,
        flip,
        said,
      };
      this.#painter = new vastsum.Painter({
        host: this,
        view: this.#view,
        picture,
        whole,
        onPicture: () => this.#draw(),
      });

      stage.addEventListener("keydown", (event) => this.#onKey(event));
      stage.addEventListener("pointerdown", (event) => this.#onDown(event));
      stage.addEventListener("pointermove", (event) => this.#onMove(event));
      for (const end of ["pointerup", "pointercancel"]) stage.addEventListener(end, (event) => this.#onUp(event));
      stage.addEventListener("pointerleave", () => this.#hover(null));
      stage.addEventListener("dblclick", (event) => this.toggle(this.draft.indexAt(this.#timeAt(event))));
      stage.addEventListener("wheel", (event) => this.#onWheel(event), { passive: false });
      overview.addEventListener("pointerdown", (event) => {
        overview.setPointerCapture(event.pointerId);
        this.#panTo(event);
      });
      overview.addEventListener("pointermove", (event) => {
        if (event.buttons) this.#panTo(event);
      });
    }

    // ---- the video ----

    #watch(video) {
      this.#watching?.abort();
      this.#watching = new AbortController();
      this.#video = video;
      if (!video) return;
      const { signal } = this.#watching;
      const follow = () => {
        const isWhereWePutIt = video.paused && Math.abs(video.currentTime - this.time_s) < 2 * INTO_FRAME_S;
        if (!video.seeking && !isWhereWePutIt) this.#follow(video.currentTime);
      };
      const whilePlaying = () => {
        follow();
        if (!video.paused && this.#video === video) requestAnimationFrame(whilePlaying);
      };
      const mode = () => {
        this.#tell("mode", { playing: !video.paused, summary: this.isPlayingSummary });
        this.#showState();
      };
      video.addEventListener(
        "play",
        () => {
          whilePlaying();
          mode();
        },
        { signal },
      );
      video.addEventListener("pause", mode, { signal });
      for (const name of ["timeupdate", "seeked"]) video.addEventListener(name, follow, { signal });
      video.addEventListener(
        "loadedmetadata",
        () => {
          if (this.time_s > 0) video.currentTime = this.time_s;
        },
        { signal },
      );
    }

    #play() {
      if (!this.#video) return this.#say("The video is not here to be played.");
      return this.#video.play().catch(() => this.#say("The video cannot be played."));
    }

    #playOrPause() {
      if (this.#video && !this.#video.paused) return this.pause();
      return this.play();
    }

    /** The video has come to this time; when the summary plays, what is not chosen is skipped. */
    #follow(time_s) {
      this.time_s = time_s;
      this.#isPlaced = true;
      if (this.isPlayingSummary && !this.#video.paused && !this.#segmentAt(time_s).selected) {
        const next = this.summary.segments.find((segment) => segment.selected && segment.start_s >= time_s);
        if (next) this.#goTo(next.start_s);
        else {
          this.isPlayingSummary = false;
          this.pause();
        }
      }
      if (!this.#video.paused) {
        const span = this.#view.span_s;
        if (!this.#view.shows(this.time_s)) this.#show(this.time_s - 0.1 * span, span);
        const k = this.draft.indexAt(this.time_s);
        if (k !== this.current) this.select(k);
      }
      this.#placePlayhead();
    }

    #goTo(time_s) {
      this.time_s = Math.min(Math.max(time_s, 0), this.duration_s);
      if (this.#video) this.#video.currentTime = Math.min(this.time_s + INTO_FRAME_S, this.duration_s);
      if (!this.#view.shows(this.time_s)) this.#show(this.time_s - this.#view.span_s / 2, this.#view.span_s);
      this.#placePlayhead();
    }

    // ---- pointer and keys ----

    #onDown(event) {
      if (event.button > 0) return;
      const { stage } = this.#parts;
      stage.setPointerCapture(event.pointerId);
      this.#pointers.set(event.pointerId, event.clientX);
      if (this.#pointers.size === 2) return void (this.#drag = { kind: "pinch", apart: this.#apart() });
      const k = this.#edgeAt(event);
      const y = this.#at(event).y;
      const kind = k > 0 ? "edge" : y < this.#view.layout.curve.top ? "scrub" : "pan";
      this.#drag = {
        kind,
        x: event.clientX,
        moved: false,
        from_s: this.#view.from_s,
        k,
        frame: this.summary.segments[k]?.start_frame,
      };
      if (this.#drag.kind === "scrub") this.seek(this.#timeAt(event));
    }

    #onMove(event) {
      const drag = this.#drag;
      if (!drag || !this.#pointers.has(event.pointerId)) return this.#hover(event);
      this.#pointers.set(event.pointerId, event.clientX);
      if (drag.kind === "edge") {
        const { segments } = this.summary;
        const pointed = Math.round(this.draft.frameAt(this.#timeAt(event)));
        const frame = event.altKey ? pointed : this.draft.nearestGoodPlace(pointed, SNAP_S);
        drag.frame = Math.min(Math.max(frame, segments[drag.k - 1].start_frame + 1), segments[drag.k].end_frame);
        drag.moved ||= Math.abs(event.clientX - drag.x) > CLICK_REACH_PX;
        this.#hover(event);
        this.#draw();
      } else if (drag.kind === "scrub") {
        drag.moved = true;
        this.seek(this.#timeAt(event));
      } else if (drag.kind === "pinch" && this.#pointers.size === 2) {
        const apart = this.#apart();
        this.zoom(apart / drag.apart, this.#timeAt(event));
        drag.apart = apart;
      } else if (drag.kind === "pan" && (drag.moved || Math.abs(event.clientX - drag.x) > CLICK_REACH_PX)) {
        drag.moved = true;
        const span = this.#view.span_s;
        this.#show(drag.from_s - ((event.clientX - drag.x) / this.#view.layout.width) * span, span);
      }
    }

    #onUp(event) {
      const drag = this.#drag;
      this.#pointers.delete(event.pointerId);
      if (!drag || this.#pointers.size > 0) return;
      this.#drag = null;
      if (event.type === "pointercancel") return this.#draw();
      if (drag.kind === "edge" && drag.moved) this.moveBoundary(drag.k, drag.frame);
      const isClick = !drag.moved && drag.kind !== "pinch";
      if (isClick) this.seek(this.#timeAt(event));
      if (isClick || drag.kind === "scrub") this.select(this.draft.indexAt(this.time_s));
      this.#draw();
    }

    #onWheel(event) {
      const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
      const span = this.#view.span_s;
      if (event.ctrlKey || event.metaKey) this.zoom(Math.exp(-event.deltaY / 200), this.#timeAt(event));
      else if (sideways && span < this.duration_s)
        this.#show(this.#view.from_s + (sideways / this.#view.layout.width) * span, span);
      else return; // the page scrolls
      event.preventDefault();
    }

    #onKey(event) {
      const undoing = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z";
      if ((event.ctrlKey || event.metaKey || event.altKey) && !undoing) return;
      const { segments } = this.summary;
      const frame = this.draft.frameAt(this.time_s + 1e-3);
      const step_s = event.shiftKey ? 10 : 1;
      const toSegment = (k) => {
        if (k < 0 || k >= segments.length) return;
        this.seek(segments[k].start_s);
        this.select(k);
        this.#say(this.#described(k));
      };
      const move = (time_s) => {
        this.seek(time_s);
        this.select(this.draft.indexAt(this.time_s));
      };
      const actions = {
        " ": () => this.#playOrPause(),
        p: () => this.playSummary(),
        ArrowLeft: () => move(this.time_s - step_s),
        ArrowRight: () => move(this.time_s + step_s),
        ",": () => move(this.draft.timeOf(frame - 1)),
        ".": () => move(this.draft.timeOf(frame + 1)),
        ArrowUp: () => toSegment(this.current - 1),
        ArrowDown: () => toSegment(this.current + 1),
        Home: () => move(0),
        End: () => move(segments.at(-1).start_s),
        Enter: () => this.toggle(this.current),
        i: () => this.#cutHere(this.current, frame),
        o: () => this.#cutHere(this.current + 1, frame + 1),
        "+": () => this.zoom(2),
        "=": () => this.zoom(2),
        "-": () => this.zoom(1 / 2),
        0: () => this.showAll(),
        z: undoing ? () => this.undo() : undefined,
      };
      const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (!action) return;
      event.preventDefault();
      action();
    }

    /** The edge before segment k comes to the playhead, if that lies between the two segments' outer ends. */
    #cutHere(k, frame) {
      const { segments } = this.summary;
      if (k < 1 || k >= segments.length) return this.#say("The ends of the video cannot be moved.");
      if (frame <= segments[k - 1].start_frame || frame > segments[k].end_frame) {
        return this.#say("The playhead is too far away to cut here.");
      }
      this.moveBoundary(k, frame);
    }

    #apart() {
      const [a, b] = [...this.#pointers.values()];
      return Math.max(Math.abs(a - b), 1);
    }

    #at(event) {
      const { left, top } = this.#parts.stage.getBoundingClientRect();
      return { x: event.clientX - left, y: event.clientY - top };
    }

    #timeAt(event) {
      return Math.min(Math.max(this.#view.timeAt(this.#at(event).x), 0), this.duration_s);
    }

    /** The segment whose start is under the pointer, in the lane of segments; -1 where there is none. */
    #edgeAt(event) {
      const { x, y } = this.#at(event);
      const { lane } = this.#view.layout;
      if (y < lane.top - 6 || y > lane.bottom + 6) return -1;
      const { segments } = this.summary;
      const reach = event.pointerType === "touch" ? TOUCH_REACH_PX : EDGE_REACH_PX;
      const here = this.draft.indexAt(this.#timeAt(event));
      const nearby = [here, here + 1]
        .filter((k) => k > 0 && k < segments.length)
        .map((k) => ({ k, away: Math.abs(this.#view.x(segments[k].start_s) - x) }))
        .sort((a, b) => a.away - b.away)[0];
      // Narrow segments are mostly for clicking; the very narrow ones only for that.
      const width = this.#view.x(segments[here].end_s) - this.#view.x(segments[here].start_s);
      return nearby && width > 2 * CLICK_REACH_PX && nearby.away <= Math.min(reach, width / 4) ? nearby.k : -1;
    }

    #panTo(event) {
      const { left, width } = this.#parts.overview.getBoundingClientRect();
      const span = this.#view.span_s;
      this.#show(((event.clientX - left) / width) * this.duration_s - span / 2, span);
    }

    #segmentAt(time_s) {
      return this.summary.segments[this.draft.indexAt(time_s)];
    }

    #show(from_s, span_s) {
      this.#view.from_s = Math.min(Math.max(from_s, 0), this.duration_s - span_s);
      this.#view.span_s = span_s;
      this.#draw();
    }

    // ---- telling ----

    #tell(name, detail) {
      this.dispatchEvent(new CustomEvent(name, { bubbles: true, detail }));
    }
    #say(text) {
      this.#parts.said.textContent = text;
    }

    #changed(reason, detail, { quietly = false } = {}) {
      const { segments } = this.summary;
      // Where a segment was cut in pieces or became whole again, others have its number now.
      if (segments.length !== this.#counted.n) this.current = this.draft.indexAt(this.#counted.start_s);
      this.#counted = { n: segments.length, start_s: segments[this.current].start_s };
      if (detail && !quietly) this.#tell(reason, detail);
      if (!quietly) this.#tell("change", { summary: this.summary, edits: this.edits, reason });
      if (this.#pointer) this.#hover(this.#pointer);
      this.#draw();
    }

    #described(k) {
      const { start_s, end_s, importance, chance, selected } = this.summary.segments[k];
      const how = this.draft.heldAt(k) === undefined ? vastsum.sureness(chance) : "by hand";
      return (
        `Segment ${k + 1} of ${this.summary.segments.length}, ${timecode(start_s, 1)} to ${timecode(end_s, 1)}, ` +
        `${selected ? "chosen" : "left out"}, ${how}, importance ${importance.toFixed(2)}`
      );
    }

    #showState() {
      const { stage, clock, play, highlights, undo, facts, flip } = this.#parts;
      const isPlaying = Boolean(this.#video && !this.#video.paused);
      const segment = this.summary.segments[this.current];
      clock.replaceChildren(element("b", {}, timecode(this.time_s, 1)), ` / ${timecode(this.duration_s, 1)}`);
      setIcon(play, isPlaying ? "pause" : "play");
      const isShowing = isPlaying && this.isPlayingSummary;
      setIcon(highlights, isShowing ? "pause" : "highlights", isShowing ? "Pause" : "Play summary");
      undo.disabled = !this.draft.canUndo;
      facts.textContent = this.#described(this.current);
      flip.textContent = segment.selected ? "Take out" : "Put in";
      stage.ariaValueMin = "0";
      stage.ariaValueMax = this.duration_s.toFixed(1);
      stage.ariaValueNow = this.time_s.toFixed(1);
      stage.ariaValueText = `${timecode(this.time_s, 1)}. ${this.#described(this.draft.indexAt(this.time_s))}`;
    }

    #hover(event) {
      const { tip, stage } = this.#parts;
      this.#pointer = event;
      tip.hidden = !event || !this.draft || event.pointerType === "touch";
      this.#hovered = tip.hidden ? null : this.draft.indexAt(this.#timeAt(event));
      if (tip.hidden) return this.#draw();
      const edge = this.#drag?.kind === "edge" ? this.#drag.k : this.#edgeAt(event);
      stage.classList.toggle("on-edge", edge > 0);
      stage.style.cursor = edge > 0 ? "ew-resize" : "pointer";
      const time_s = this.#drag?.kind === "edge" ? this.draft.timeOf(this.#drag.frame) : this.#timeAt(event);
      const { importance, uncertainty, chance, selected, start_s, end_s } = this.summary.segments[this.#hovered];
      const src = this.thumbnailAt(time_s);
      const sure = this.draft.heldAt(this.#hovered) === undefined ? vastsum.sureness(chance) : "by hand";
      tip.replaceChildren(
        ...[
          src && element("img", { src, alt: "" }),
          element("b", {}, timecode(time_s, 2)),
          element("div", {}, `${selected ? "chosen" : "left out"}, ${sure}`),
          element(
            "div",
            { className: "quiet" },
            `importance ${importance.toFixed(2)}, to one person ± ${uncertainty.toFixed(2)}`,
          ),
          element("div", { className: "quiet" }, `segment ${this.#hovered + 1}, ${length(end_s - start_s)}`),
        ].filter(Boolean),
      );
      const { x } = this.#at(event);
      const left = x + 16 + tip.offsetWidth > this.#view.layout.width ? x - 16 - tip.offsetWidth : x + 16;
      tip.style.transform = `translate(${Math.max(left, 0)}px, ${this.#view.layout.curve.top}px)`;
      this.#draw();
    }

    // ---- drawing ----

    #draw() {
      if (this.#isDrawing || !this.draft || !this.#parts) return;
      this.#isDrawing = true;
      requestAnimationFrame(() => {
        this.#isDrawing = false;
        this.#drawNow();
      });
    }

    #drawNow() {
      if (!this.#parts.stage.clientWidth) return;
      this.#painter.paint({
        current: this.current,
        hovered: this.#hovered,
        edge: this.#drag?.kind === "edge" ? this.#drag : null,
      });
      const { window: frame, overview } = this.#parts;
      const { from_s, span_s } = this.#view;
      frame.hidden = span_s >= this.duration_s;
      frame.style.transform = `translateX(${(from_s / this.duration_s) * overview.clientWidth}px)`;
      frame.style.width = `${Math.max((span_s / this.duration_s) * overview.clientWidth, 8)}px`;
      this.#placePlayhead();
    }

    #placePlayhead() {
      if (!this.#view.layout) return;
      const { playhead } = this.#parts;
      playhead.style.transform = `translateX(${this.#view.x(this.time_s)}px)`;
      playhead.hidden = !this.#view.shows(this.time_s);
      this.#showState();
    }
  }

  function setIcon(button, name, text) {
    if (button.dataset.icon === name) return;
    button.dataset.icon = name;
    button.replaceChildren(vastsum.icon(name), ...(text ? [text] : []));
  }

  customElements.define("vastsum-timeline", Timeline);
})((globalThis.vastsum ??= {}));
