/* Small things that every page of ours needs.

   vastsum.element("button", { className: "quiet", onclick: f, ariaLabel: "Play" }, "Play", child, …)
       An element with properties (or, after "data-" and "aria-", attributes) and children. Texts are texts, never HTML.
   vastsum.budgetTicks(slider, timeline, fraction)
       Ties a range input to the budget of a timeline; gives buttons for round budgets, placed along it.
   vastsum.timecode(64.2, 1) "1:04.2"    vastsum.length(4.81) "4.8 s"    vastsum.percent(0.153, 1) "15.3 %" */
"use strict";
(function (vastsum) {
  vastsum.element = function (tag, properties = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (/^(data|aria)-/.test(name)) made.setAttribute(name, value);
      else made[name] = value;
    }
    made.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return made;
  };

  vastsum.timecode = function (seconds, decimals = 0) {
    const unit = 10 ** decimals;
    const ticks = Math.round(Math.max(seconds, 0) * unit);
    const whole = Math.floor(ticks / unit);
    const two = (number) => String(number).padStart(2, "0");
    const [h, m, s] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
    const part = decimals ? `.${String(ticks % unit).padStart(decimals, "0")}` : "";
    return h ? `${h}:${two(m)}:${two(s)}${part}` : `${m}:${two(s)}${part}`;
  };

  vastsum.length = function (seconds) {
    if (seconds < 1) return `${seconds.toFixed(2)} s`;
    return seconds < 59.95 ? `${seconds.toFixed(1)} s` : vastsum.timecode(seconds);
  };

  const TICKS = [5, 10, 20, 30, 40, 50];

  vastsum.budgetTicks = function (slider, timeline, fraction) {
    // Fine enough for the budget that was asked for, however small.
    slider.max = String(Math.max(50, Math.ceil(100 * fraction)));
    slider.min = String(Math.min(1, 100 * fraction));
    slider.addEventListener("input", () => {
      timeline.budget = Math.min(Number(slider.value) / 100, 1);
    });
    const [low, high] = [Number(slider.min), Number(slider.max)];
    return TICKS.filter((tick) => tick <= high).map((tick) => {
      const choose = () => {
        timeline.budget = tick / 100;
      };
      const label = { type: "button", ariaLabel: `Budget ${tick} percent`, onclick: choose };
      const button = vastsum.element("button", label, `${tick} %`);
      button.style.left = `${(100 * (tick - low)) / (high - low)}%`;
      return button;
    });
  };

  vastsum.percent = (share, decimals = 0) => `${(100 * share).toFixed(decimals)} %`;

  // How likely people would include a segment, in words: as in chance.py.
  vastsum.CLEAR = 0.6;
  vastsum.LIKELY = 0.4;
  vastsum.inWords = (chance) =>
    chance >= vastsum.CLEAR ? "clear" : chance >= vastsum.LIKELY ? "likely" : "could go either way";
  /** Chosen segments that follow one another are one piece; `ks` are their places. */
  vastsum.pieces = function ({ segments }) {
    const pieces = [];
    segments.forEach((segment, k) => {
      if (!segment.selected) return;
      if (!segments[k - 1]?.selected) return void pieces.push({ ...segment, ks: [k] });
      const piece = pieces.at(-1);
      const share = (segment.end_s - segment.start_s) / (segment.end_s - piece.start_s);
      for (const name of ["importance", "uncertainty", "chance"]) piece[name] += share * (segment[name] - piece[name]);
      Object.assign(piece, { end_frame: segment.end_frame, end_s: segment.end_s, ks: [...piece.ks, k] });
    });
    return pieces;
  };
  vastsum.howSure = (summary) => {
    const words = vastsum.pieces(summary).map(({ chance }) => vastsum.inWords(chance));
    const counted = ["clear", "likely", "could go either way"].map((word) => [
      words.filter((one) => one === word),
      word,
    ]);
    return counted.flatMap(([{ length }, word]) => (length ? [`${length} ${word}`] : [])).join(", ");
  };
  vastsum.sureness = (chance) => `${vastsum.percent(chance)} would include it`;
})((globalThis.vastsum ??= {}));
