/* A summary that a person is working on: what Summary.with_budget does in Python, and edits by hand on top of it.

   const draft = new vastsum.Draft(summary, starts)
       `summary` is the content of a summary.json (version 1); `starts` (optional) are the first frames of the segments
       as they were found, where the summary had to trim one of them to the budget.
   draft.summary                 the summary as it now stands, in the same format; never changed in place
   draft.setBudget(0.1)          choose again within another share of the video
   draft.toggle(k)               segment k of draft.summary.segments in or out by hand; the rest fills the budget.
                                 false where that would leave the summary empty
   draft.moveBoundary(k, frame)  let segment k start at another frame, and the one before it end there
   draft.changesAt(0.2)          { joins, leaves, duration_s }: the segments that another budget would add and drop
   draft.edits                   everything done by hand as a small JSON value; may be assigned to restore it:
                                 { budget, starts (null unless boundaries moved), held: [[start_frame, in or out], …] }
   draft.isEdited, draft.canUndo, draft.undo(), draft.reset()
   draft.estimateStability()     generator; run it to its end, in slices of time, to have stability estimated anew

   A new budget gives the very segments that Python gives. Stability is estimated with other random numbers than
   Python's, so it may differ by a few per cent; until anything is changed, Python's own figures are shown. Segments
   that were put in or taken out by hand are certain: their stability is 1. */
"use strict";
(function (vastsum) {
  const DRAWN_SEGMENTS = 200_000,
    MIN_DRAWS = 25,
    MAX_DRAWS = 200; // as in summary.py
  const FLAT = 1e-9,
    FURTHEST = 6; // as in decode.py
  const SEED = 1;

  vastsum.Draft = class Draft {
    #given;
    #found;
    #clock;
    #decoder;
    #means;
    #deviations;
    #worth; // prefix sums: of the scores, their deviations, and what the decoder makes of the scores
    #past = [];
    #lastKind;
    #budget;
    #starts;
    #held; // the edits: share of the video; first frame of each segment; start frame -> in or out
    #chosen; // for each of #starts, before any trimming

    constructor(summary, starts) {
      const edges = summary.segments.map((segment) => segment.start_frame);
      this.#given = summary;
      this.#found = starts ?? edges;
      this.#clock = new Clock(summary);
      this.summary = summary;
      this.#decoder = summary.decoder ?? { sharpness: 0, length_power: 0 }; // files that name none were chosen by this
      this.#means = this.#sums(summary.importance);
      this.#deviations = this.#sums(summary.uncertainty);
      this.#worth = this.#sums(sharpened(summary.importance, this.#decoder.sharpness));
      this.#restore(this.#unedited());
    }

    get budget() {
      return this.#budget;
    }
    get given() {
      return this.#given;
    }
    get isEdited() {
      return !this.#isAsGiven();
    }
    get canUndo() {
      return this.#past.length > 0;
    }

    /** When frames appear on screen, and which frame is on screen when. */
    timeOf(frame) {
      return this.#clock.timeOf(frame);
    }
    frameAt(time_s) {
      return this.#clock.frameAt(time_s);
    }

    /** The segment on screen at a time: the last that starts at or before it, to a rounding error. */
    indexAt(time_s) {
      const { segments } = this.summary;
      let low = 0,
        high = segments.length;
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (segments[middle].start_s <= time_s + 1e-4) low = middle;
        else high = middle;
      }
      return low;
    }

    /** true or false where a person decided about this segment, else undefined. */
    heldAt(k) {
      return this.#held.get(this.#starts[this.#originOf(k)]);
    }

    setBudget(fraction) {
      if (!(fraction > 0 && fraction <= 1)) throw new RangeError(`${fraction} is not a share of the video`);
      if (fraction !== this.#budget)
        this.#edit(() => {
          this.#budget = fraction;
        }, "budget");
    }

    toggle(k) {
      const origin = this.#originOf(k);
      const wanted = !this.summary.segments[k].selected;
      const others = this.#starts.some((start, n) => n !== origin && this.#held.get(start) !== false);
      if (!wanted && !others) return false;
      this.#edit(() => this.#held.set(this.#starts[origin], wanted));
      return true;
    }

    moveBoundary(k, frame) {
      const { segments } = this.summary;
      if (k < 1 || k >= segments.length) return false;
      const to = Math.min(Math.max(Math.round(frame), segments[k - 1].start_frame + 1), segments[k].end_frame);
      if (to === segments[k].start_frame) return false;
      this.#edit(() => {
        // Who moves the edge of a chosen segment wants it. So a choice beside the edge stays; a trimmed one does too.
        const held = new Map(segments.map((segment, n) => [segment.start_frame, this.#pinned(n)]));
        for (const n of [k - 1, k]) if (segments[n].selected) held.set(segments[n].start_frame, true);
        const starts = segments.map((segment) => segment.start_frame);
        held.set(to, held.get(starts[k]));
        held.delete(starts[k]);
        starts[k] = to;
        this.#starts = sameNumbers(starts, this.#found) ? this.#found : starts;
        this.#held = new Map([...held].filter(([, wanted]) => wanted !== undefined));
      });
      return true;
    }

    changesAt(fraction) {
      const { chosen } = this.#select(fraction);
      const found = this.#layout();
      const differing = found.map((segment, k) => ({ ...segment, k })).filter(({ k }) => chosen[k] !== this.#chosen[k]);
      return {
        joins: differing.filter(({ k }) => chosen[k]),
        leaves: differing.filter(({ k }) => !chosen[k]),
        duration_s: found.reduce((sum, segment, k) => sum + (chosen[k] ? segment.end_s - segment.start_s : 0), 0),
      };
    }

    get edits() {
      const moved = !sameNumbers(this.#starts, this.#found);
      return { budget: this.#budget, starts: moved ? [...this.#starts] : null, held: [...this.#held] };
    }

    set edits(edits) {
      this.#edit(() => this.#take(edits));
    }

    undo() {
      this.#lastKind = undefined;
      if (this.#past.length) this.#restore(this.#past.pop());
    }

    reset() {
      this.edits = this.#unedited();
    }

    *estimateStability() {
      const { layout, weights, capacity, chosen, lengthPower } = this.#select(this.#budget);
      const { values, noise } = this.#viewerValues(layout, lengthPower);
      const disturbed = this.#decoder.sharpness ? (value, by) => value * Math.exp(by) : (value, by) => value + by;
      const draws = Math.min(Math.max(Math.floor(DRAWN_SEGMENTS / values.length), MIN_DRAWS), MAX_DRAWS);
      const normal = normalNumbers(SEED);
      const agreed = new Float64Array(values.length);
      for (let draw = 0; draw < draws; draw++) {
        const perturbed = values.map((value, k) => disturbed(value, noise[k] * normal()));
        const other = this.#fill(perturbed, weights, capacity);
        for (let k = 0; k < agreed.length; k++) agreed[k] += other[k] === chosen[k] ? 1 : 0;
        yield draw / draws;
      }
      const isTrimmed = this.summary.segments.length !== this.#starts.length;
      this.#show(
        this.summary.segments.map((segment, k) => {
          const certain = this.heldAt(k) !== undefined || (isTrimmed && !segment.selected && this.#isPiece(k));
          return { ...segment, stability: certain ? 1 : agreed[this.#originOf(k)] / draws };
        }),
      );
    }

    // ---- choosing ----

    /** Python's Summary._select, among the segments a person has not decided about. */
    #select(fraction) {
      const { video } = this.#given;
      const layout = this.#layout();
      let weights = layout.map((segment) => this.#lengthOnScreen(segment));
      let capacity = fraction < 1 ? Math.trunc(fraction * video.n_frames) : weights.reduce((a, b) => a + b, 0);
      const free = this.#starts.map((start) => this.#held.get(start)).map((wanted) => wanted === undefined);
      const anyHeldIn = this.#starts.some((start) => this.#held.get(start) === true);
      const nothingFits = !anyHeldIn && free.every((isFree, k) => !isFree || weights[k] > capacity);
      if (nothingFits) [weights, capacity] = [weights.map(() => 1), 1]; // the best one alone, to be trimmed
      const lengthPower = nothingFits ? 0 : this.#decoder.length_power;
      const values = layout.map((segment) => valueOf(this.#worth, segment, lengthPower));
      const chosen = this.#fill(values, weights, capacity);
      return { layout, weights, capacity, chosen, nothingFits, lengthPower };
    }

    /** What segments are worth to one viewer, and by how much viewers differ, as in stability.py. */
    #viewerValues(layout, lengthPower) {
      const { importance, uncertainty } = this.#given;
      const { sharpness } = this.#decoder;
      if (!sharpness)
        return {
          values: layout.map((segment) => valueOf(this.#means, segment, lengthPower)),
          noise: layout.map((segment) => valueOf(this.#deviations, segment, lengthPower)),
        };
      const { deviation } = spread(importance);
      const ofViewer = Math.hypot(deviation, Math.sqrt(mean(uncertainty.map((std) => std * std)))) || 1;
      const sums = this.#sums(sharpened(importance, sharpness * Math.max(deviation / ofViewer, FLAT)));
      return {
        values: layout.map((segment) => valueOf(sums, segment, lengthPower)),
        noise: layout.map((segment) => sharpness * Math.min(meanOver(this.#deviations, segment) / ofViewer, FURTHEST)),
      };
    }

    #sums(scores) {
      return prefixSums(scores, this.#given.picks, this.#given.video.n_frames);
    }

    /** What is held in, and the best of the free segments in the room that is left. */
    #fill(values, weights, capacity) {
      const held = this.#starts.map((start) => this.#held.get(start));
      if (this.#held.size === 0) return vastsum.knapsack(values, weights, capacity);
      const room = capacity - weights.reduce((sum, weight, k) => sum + (held[k] ? weight : 0), 0);
      const free = held.flatMap((wanted, k) => (wanted === undefined ? [k] : []));
      const solve = held.includes(true) ? vastsum.bestSet : vastsum.knapsack;
      const filled = solve(
        free.map((k) => values[k]),
        free.map((k) => weights[k]),
        Math.max(room, 0),
      );
      const chosen = Uint8Array.from(held, (wanted) => (wanted ? 1 : 0));
      free.forEach((k, n) => {
        chosen[k] = filled[n];
      });
      return chosen;
    }

    #lengthOnScreen({ start_s, end_s }) {
      const { n_frames, duration_s } = this.#given.video;
      return Math.max(Math.ceil((end_s - start_s) * (n_frames / duration_s) - 1e-6), 1);
    }

    /** First and last frame and times of the segments as they are, before any is trimmed. */
    #layout() {
      const { n_frames } = this.#given.video;
      return this.#starts.map((start, k) => this.#span(start, this.#starts[k + 1] ?? n_frames));
    }

    #span(start, stop) {
      return { start_frame: start, end_frame: stop - 1, start_s: this.timeOf(start), end_s: this.timeOf(stop) };
    }

    #choose() {
      const { layout, chosen, nothingFits } = this.#select(this.#budget);
      this.#chosen = chosen;
      const segments = layout.flatMap((segment, k) =>
        nothingFits && chosen[k] ? this.#trimmed(segment) : [{ ...segment, selected: chosen[k] === 1 }],
      );
      this.#show(this.#decided(segments));
    }

    /** Keep of a segment what the budget allows, around its most important pick; the rest becomes its own segments. */
    #trimmed(segment) {
      const { start_frame: first, end_frame: last } = segment;
      const seconds = this.#budget * this.#given.video.duration_s;
      const centre = this.highlight(segment);
      const begin = (n) => Math.min(Math.max(centre - Math.floor(n / 2), first), last + 1 - n);
      const fits = (n) => this.timeOf(begin(n) + n) - this.timeOf(begin(n)) <= seconds + 1e-9;
      let low = 1,
        high = last - first + 2; // the longest window that fits is in [low, high)
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (fits(middle)) low = middle;
        else high = middle;
      }
      const start = begin(low);
      const cuts = [first, ...[start, start + low].filter((cut) => first < cut && cut <= last), last + 1];
      return cuts.slice(1).map((stop, n) => ({ ...this.#span(cuts[n], stop), selected: cuts[n] === start }));
    }

    /** With the figures of summary.json. Stability is carried over until it is estimated anew. */
    #decided(segments) {
      const known = new Map(this.summary.segments.map((segment) => [segment.start_frame, segment.stability]));
      return segments.map(({ start_frame, end_frame, start_s, end_s, selected }) => ({
        start_frame,
        end_frame,
        start_s,
        end_s,
        importance: meanOver(this.#means, { start_frame, end_frame }),
        uncertainty: meanOver(this.#deviations, { start_frame, end_frame }),
        stability: this.#held.has(start_frame) ? 1 : (known.get(start_frame) ?? 1),
        selected,
      }));
    }

    #show(segments) {
      const given = this.#given;
      const chosen = segments.filter((segment) => segment.selected);
      const duration_s = chosen.reduce((sum, segment) => sum + (segment.end_s - segment.start_s), 0);
      this.summary = {
        ...given,
        segments,
        budget: { fraction: this.#budget, seconds: this.#budget * given.video.duration_s },
        summary: {
          n_frames: chosen.reduce((sum, segment) => sum + segment.end_frame - segment.start_frame + 1, 0),
          duration_s,
          fraction: duration_s / given.video.duration_s,
        },
      };
    }

    /** The frame that best stands for a segment: its most important pick, or its first frame if it has none. */
    highlight({ start_frame, end_frame }) {
      const { picks, importance } = this.#given;
      let best = -1;
      for (let t = vastsum.firstAtLeast(picks, start_frame); t < picks.length && picks[t] <= end_frame; t++) {
        if (best < 0 || importance[t] > importance[best]) best = t;
      }
      return best < 0 ? start_frame : picks[best];
    }

    // ---- keeping track of edits ----

    /** A slider that is drawn across many budgets is one edit. */
    #edit(change, kind) {
      if (kind === undefined || kind !== this.#lastKind) this.#past.push(this.edits);
      this.#lastKind = kind;
      change();
      this.#refresh();
    }

    #restore(edits) {
      this.#take(edits);
      this.#refresh();
    }

    #take({ budget, starts, held }) {
      this.#budget = budget;
      this.#starts = starts ?? this.#found;
      this.#held = new Map(held);
    }

    #refresh() {
      if (!this.#isAsGiven()) return this.#choose();
      this.summary = this.#given;
      this.#chosen = new Uint8Array(this.#starts.length);
      this.summary.segments.forEach(({ selected }, k) => {
        if (selected) this.#chosen[this.#originOf(k)] = 1;
      });
    }

    #unedited() {
      return { budget: this.#given.budget.fraction, starts: null, held: [] };
    }

    #isAsGiven() {
      return this.#budget === this.#given.budget.fraction && this.#held.size === 0 && this.#starts === this.#found;
    }

    /** Which of #starts a shown segment lies in: itself, unless it is a piece of a trimmed one. */
    #originOf(k) {
      return vastsum.firstAtLeast(this.#starts, this.summary.segments[k].start_frame + 1) - 1;
    }

    #isPiece(k) {
      const { segments } = this.summary;
      const origin = this.#originOf(k);
      return [k - 1, k + 1].some((n) => n >= 0 && n < segments.length && this.#originOf(n) === origin);
    }

    #pinned(k) {
      return this.#isPiece(k) && this.summary.segments[k].selected ? true : this.heldAt(k);
    }
  };

  /** When frames appear: known where segments start, and in between as if evenly spaced. */
  class Clock {
    constructor({ segments, video }) {
      this.frames = [...segments.map((segment) => segment.start_frame), video.n_frames];
      this.times_s = [...segments.map((segment) => segment.start_s), segments.at(-1).end_s];
    }
    timeOf(frame) {
      return interpolate(frame, this.frames, this.times_s);
    }
    frameAt(time_s) {
      const frame = Math.floor(interpolate(time_s, this.times_s, this.frames) + 1e-6);
      return Math.min(Math.max(frame, 0), this.frames.at(-1) - 1);
    }
  }

  function interpolate(x, xs, ys) {
    if (x <= xs[0]) return ys[0];
    if (x >= xs.at(-1)) return ys.at(-1);
    const n = vastsum.firstAtLeast(xs, x);
    if (xs[n] === x) return ys[n];
    return ((ys[n] - ys[n - 1]) / (xs[n] - xs[n - 1])) * (x - xs[n - 1]) + ys[n - 1];
  }

  /** The index of the first of some increasing numbers that is at least `wanted`. */
  vastsum.firstAtLeast = function (numbers, wanted) {
    let low = 0,
      high = numbers.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (numbers[middle] < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  /** Sums of the scores of all frames before each: a frame has the score of the last pick at or before it. */
  function prefixSums(scores, picks, n_frames) {
    const sums = new Float64Array(n_frames + 1);
    for (let frame = 0, t = 0; frame < n_frames; frame++) {
      while (t + 1 < picks.length && picks[t + 1] <= frame) t++;
      sums[frame + 1] = sums[frame] + scores[t];
    }
    return sums;
  }

  /** What a decoder of some sharpness averages over a segment: the scores, or exp() of how they stand in the video. */
  function sharpened(scores, sharpness) {
    if (!sharpness) return scores;
    const { middle, deviation } = spread(scores);
    const isFlat = !(deviation > FLAT * scores.reduce((most, score) => Math.max(most, Math.abs(score)), 0));
    const standing = (score) => Math.min(Math.max((score - middle) / deviation, -FURTHEST), FURTHEST);
    return scores.map((score) => (isFlat ? 1 : Math.exp(sharpness * standing(score))));
  }

  function spread(scores) {
    const middle = mean(scores);
    return { middle, deviation: Math.sqrt(mean(scores.map((score) => (score - middle) ** 2))) };
  }

  function mean(numbers) {
    return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
  }

  function valueOf(sums, segment, lengthPower) {
    const length = segment.end_frame - segment.start_frame + 1;
    return Math.fround(meanOver(sums, segment) * length ** lengthPower);
  }

  /** To single precision, as in Python: the rest is rounding, and must not decide between segments of equal score. */
  function meanOver(sums, { start_frame, end_frame }) {
    return Math.fround((sums[end_frame + 1] - sums[start_frame]) / (end_frame - start_frame + 1));
  }

  function sameNumbers(a, b) {
    return a.length === b.length && a.every((value, n) => value === b[n]);
  }

  /** Standard normal numbers, the same ones every time (mulberry32, Box and Muller). */
  function normalNumbers(seed) {
    let state = seed;
    const uniform = () => {
      state = (state + 0x6d2b79f5) | 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    };
    return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  }
})((globalThis.vastsum ??= {}));
