/* A summary that a person is working on: what Summary.with_budget does in Python, and edits by hand on top of it.

   const draft = new vastsum.Draft(summary)
       `summary` is the content of a summary.json (version 2).
   draft.summary                 the summary as it now stands, in the same format; never changed in place
   draft.setBudget(0.1)          choose again within another share of the video
   draft.toggle(k, …)            segment k of draft.summary.segments in or out by hand, and others with it; the rest fills
                                 the budget.
                                 false where that would leave the summary empty
   draft.moveBoundary(k, frame)  let segment k start at another frame, and the one before it end there
   draft.changesAt(0.2)          { joins, leaves, duration_s }: the segments that another budget would add and drop
   draft.edits                   everything done by hand as a small JSON value; may be assigned to restore it:
                                 { budget, starts (null unless boundaries moved), held: [[start_frame, in or out], …] }
   draft.isEdited, draft.canUndo, draft.undo(), draft.reset()
   draft.nearestGoodPlace(frame, within_s)    the hard cut or pause in speech near a frame; else the frame itself

   A new budget gives the very segments that Python gives. */
"use strict";
(function (vastsum) {
  const MOST_PARTS = 4; // as in summary.py
  const ENOUGH = 0.98,
    LEAST = 0.95,
    MIN_PIECE_S = 1,
    FLASH_S = 0.5,
    PAUSE_REACH_S = 1.6; // as in fill.py
  const [BASE, OF_STANDING, OF_LENGTH, OF_BUDGET] = [-0.03, 0.71, -1.11, 1.09]; // as in chance.py
  const FLAT = 1e-9,
    FURTHEST = 6; // as in decode.py

  vastsum.Draft = class Draft {
    #given;
    #found;
    #clock;
    #decoder;
    #marks;
    #speechStarts;
    #means;
    #deviations;
    #worth; // prefix sums: of the scores, their deviations, and what the decoder makes of the scores
    #past = [];
    #lastKind;
    #budget;
    #starts;
    #held; // the edits: share of the video; first frame of each segment; start frame -> in or out
    #chosen; // for each of #starts, before any trimming

    constructor(summary) {
      this.#given = summary;
      this.#found = summary.starts; // some of its segments may be parts of these
      this.#clock = new Clock(summary);
      this.summary = summary;
      this.#decoder = summary.decoder;
      this.#marks = summary.marks;
      this.#speechStarts = this.#marks.speech.map(({ first_frame }) => first_frame);
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
    get marks() {
      return this.#marks;
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

    toggle(...ks) {
      const starts = new Set(ks.map((k) => this.#starts[this.#originOf(k)]));
      const wanted = !this.summary.segments[ks[0]].selected;
      const others = this.#starts.some((start) => !starts.has(start) && this.#held.get(start) !== false);
      if (!wanted && !others) return false;
      this.#edit(() => starts.forEach((start) => this.#held.set(start, wanted)));
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
      const { layout: found, chosen, segments } = this.#plan(fraction);
      const differing = found.map((segment, k) => ({ ...segment, k })).filter(({ k }) => chosen[k] !== this.#chosen[k]);
      return {
        joins: differing.filter(({ k }) => chosen[k]),
        leaves: differing.filter(({ k }) => !chosen[k]),
        duration_s: durationOf(segments),
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

    /** The hard cut or pause in speech nearest to a frame, or the frame itself where none is that near. */
    nearestGoodPlace(frame, within_s) {
      const near = (places) => {
        const n = vastsum.firstAtLeast(places, frame);
        return places.slice(Math.max(n - 1, 0), n + 1);
      };
      const away = (place) => Math.abs(this.timeOf(place) - this.timeOf(frame));
      const places = [...near(this.#marks.cuts), ...near(this.#marks.pauses)].sort((a, b) => away(a) - away(b));
      return places.length && away(places[0]) <= within_s ? places[0] : frame;
    }

    // ---- choosing ----

    /** Python's Summary._select: whole segments by the knapsack, then parts of others in what is left. */
    #plan(fraction) {
      const { layout, chosen, free, nothingFits } = this.#select(fraction);
      const segments = layout.map((segment, k) => ({ ...segment, selected: chosen[k] === 1, origin: k }));
      const budget_s = fraction * this.#given.video.duration_s;
      if (nothingFits) {
        const k = chosen.indexOf(1);
        segments.splice(k, 1, ...this.#trimmed(segments[k], budget_s));
      } else if (this.#decoder.sharpness || this.#decoder.length_power) {
        return { layout, chosen, segments: this.#filled(segments, free, budget_s) };
      }
      return { layout, chosen, segments };
    }

    /** No flashes of other shots, and beginnings of free segments in what is left. */
    #filled(given, free, budget_s) {
      const filled = this.#withParts(given, free, { budget_s, toTheBrim: false });
      if (durationOf(filled) >= LEAST * budget_s) return filled;
      const fuller = this.#withParts(given, free, { budget_s, toTheBrim: true });
      return durationOf(fuller) > durationOf(filled) + 1e-6 ? fuller : filled;
    }

    /** Where no part fits and much is left, the least valuable free segment makes room for a part of another. */
    #withParts(given, given_free, goal) {
      const free = [...given_free];
      let [segments, unswapped] = [this.#withoutFlashes(given, free), null];
      for (let n = 0; n < MOST_PARTS; n++) {
        const part = this.#bestPart(segments, free, goal);
        if (part) {
          free[segments[part.k].origin] = false; // a part ends where it should
          segments = segments.toSpliced(part.k, 1, ...this.#split(segments[part.k], part.start, part.stop));
          continue;
        }
        const droppable = segments.filter(({ selected, origin }) => selected && free[origin]);
        if (unswapped || durationOf(segments) >= LEAST * goal.budget_s || droppable.length === 0) break;
        const worth = ({ start_frame, end_frame }) =>
          Math.fround(this.#worth[end_frame + 1] - this.#worth[start_frame]);
        const least = droppable.reduce((a, b) => (worth(b) < worth(a) ? b : a));
        free[least.origin] = false;
        unswapped = segments;
        segments = segments.map((segment) => (segment === least ? { ...segment, selected: false } : segment));
      }
      return unswapped && durationOf(unswapped) >= durationOf(segments) - 1e-6 ? unswapped : segments;
    }

    /** Filling.without_flashes of fill.py; what it changes is no longer free. */
    #withoutFlashes(segments, free) {
      if (segments.every(({ selected }) => selected)) return segments;
      const isChosen = (k) => segments[k]?.selected ?? false;
      return segments.flatMap((segment, k) => {
        const [begins, ends] = [k - 1, k + 1].map((n) => isChosen(k) && !isChosen(n));
        if (!free[segment.origin] || !(begins || ends)) return [segment];
        const whole = [segment.start_frame, segment.end_frame + 1];
        let [start, stop] = whole;
        const cuts = this.#cutsBetween(start, stop);
        for (const cut of begins ? cuts : []) if (this.#seconds(start, cut) < FLASH_S) start = cut;
        for (const cut of ends ? cuts.reverse() : []) if (start < cut && this.#seconds(cut, stop) < FLASH_S) stop = cut;
        if (sameNumbers([start, stop], whole) || this.#seconds(start, stop) < FLASH_S) return [segment];
        free[segment.origin] = false;
        return this.#split(segment, start, stop);
      });
    }

    /** The knapsack, among the segments a person has not decided about. */
    #select(fraction) {
      const { video } = this.#given;
      const layout = this.#layout();
      let weights = layout.map((segment) => this.#lengthOnScreen(segment));
      let capacity = fraction < 1 ? Math.trunc(fraction * video.n_frames) : weights.reduce((a, b) => a + b, 0);
      const held = this.#starts.map((start) => this.#held.get(start));
      let free = held.map((wanted) => wanted === undefined);
      const anyHeldIn = held.includes(true);
      const isEmpty = layout.map((segment) => this.#isEmpty(segment));
      const anyToSee = anyHeldIn || free.some((isFree, k) => isFree && !isEmpty[k]);
      if (fraction < 1 && anyToSee) free = free.map((isFree, k) => isFree && !isEmpty[k]);
      const nothingFits = !anyHeldIn && free.every((isFree, k) => !isFree || weights[k] > capacity);
      if (nothingFits) [weights, capacity] = [weights.map(() => 1), 1]; // the best one alone, to be trimmed
      const lengthPower = nothingFits ? 0 : this.#decoder.length_power;
      const values = layout.map((segment) => valueOf(this.#worth, segment, lengthPower));
      const room = capacity - weights.reduce((sum, weight, k) => sum + (held[k] ? weight : 0), 0);
      const places = free.flatMap((isFree, k) => (isFree ? [k] : []));
      const solve = anyHeldIn ? vastsum.bestSet : vastsum.knapsack;
      const filled = solve(
        places.map((k) => values[k]),
        places.map((k) => weights[k]),
        Math.max(room, 0),
      );
      const chosen = Uint8Array.from(held, (wanted) => (wanted ? 1 : 0));
      places.forEach((k, n) => {
        chosen[k] = filled[n];
      });
      return { layout, chosen, free, nothingFits };
    }

    /** It shows nothing for half its length or more. */
    #isEmpty({ start_frame, end_frame }) {
      const shared = ({ first_frame, last_frame }) =>
        Math.max(Math.min(end_frame, last_frame) - Math.max(start_frame, first_frame) + 1, 0);
      const overlap = this.#marks.empty.reduce((sum, stretch) => sum + shared(stretch), 0);
      return 2 * overlap >= end_frame - start_frame + 1;
    }

    /** Filling.best_part of fill.py: { k, start, stop } or null. */
    #bestPart(segments, free, goal) {
      const { budget_s } = goal;
      const left_s = budget_s - durationOf(segments);
      if (left_s < (1 - ENOUGH) * budget_s) return null;
      const nearlyFull = left_s <= (1 - LEAST) * budget_s;
      let best = null,
        most = [nearlyFull, false, nearlyFull, 0];
      segments.forEach((segment, k) => {
        if (segment.selected || !free[segment.origin]) return;
        const { start_frame: start, end_frame } = segment;
        const last = lastWhere(start, end_frame + 1, (frame) => this.#seconds(start, frame) <= left_s + 1e-9);
        const continues = k > 0 && segments[k - 1].selected && !this.#isCut(start);
        const least_s = continues ? 0 : MIN_PIECE_S;
        const stop = this.#goodStop(start, last, left_s, goal, least_s);
        const worth = Math.fround(this.#worth[stop] - this.#worth[start]);
        const rests = !this.#isSpoken(stop) || this.#isCut(stop);
        const fills = this.#fills(left_s - this.#seconds(start, stop), goal);
        const rank = [fills, continues && rests && this.#isSpoken(start), rests, worth];
        if (worth > 0 && ranksAbove(rank, most) && this.#seconds(start, stop) >= least_s)
          [best, most] = [{ k, start, stop }, rank];
      });
      return best;
    }

    #goodStop(start, stop, left_s, goal, least_s) {
      let end = stop;
      for (const cut of this.#cutsBetween(start, stop).reverse()) if (this.#seconds(cut, end) < FLASH_S) end = cut;
      if (end < stop) return end;
      if (!this.#isSpoken(stop)) return stop;
      const [first, after] = [start + 1, stop + 1].map((frame) => vastsum.firstAtLeast(this.#marks.pauses, frame));
      const pauses = this.#marks.pauses.slice(first, after);
      const rest = pauses.findLast((pause) => {
        const length_s = this.#seconds(start, pause);
        return !this.#isSpoken(pause) && length_s >= least_s && this.#fills(left_s - length_s, goal);
      });
      if (rest !== undefined) return rest;
      const toSpare = (1 - LEAST) * goal.budget_s - left_s + this.#seconds(start, stop);
      const near = pauses.length && this.#seconds(pauses.at(-1), stop) <= Math.min(PAUSE_REACH_S, toSpare);
      return near ? pauses.at(-1) : stop;
    }

    #fills(left_s, { budget_s, toTheBrim }) {
      return !toTheBrim || left_s <= (1 - LEAST) * budget_s + 1e-9 || left_s >= MIN_PIECE_S;
    }

    #cutsBetween(start, stop) {
      const { cuts } = this.#marks;
      return cuts.slice(vastsum.firstAtLeast(cuts, start + 1), vastsum.firstAtLeast(cuts, stop));
    }

    #isCut(frame) {
      const { cuts } = this.#marks;
      return cuts[vastsum.firstAtLeast(cuts, frame)] === frame;
    }

    #isSpoken(frame) {
      return frame <= this.#marks.speech[vastsum.firstAtLeast(this.#speechStarts, frame + 1) - 1]?.last_frame;
    }

    #seconds(start, stop) {
      return this.timeOf(stop) - this.timeOf(start);
    }

    #sums(scores) {
      return prefixSums(scores, this.#given.picks, this.#given.video.n_frames);
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
      const { chosen, segments } = this.#plan(this.#budget);
      this.#chosen = chosen;
      this.#show(this.#judged(segments));
    }

    /** Keep of a segment what the budget allows, around its most important pick. */
    #trimmed(segment, budget_s) {
      const centre = this.highlight(segment);
      const [first, last] = this.#shotAround(centre, segment, budget_s);
      const begin = (n) => Math.min(Math.max(centre - Math.floor(n / 2), first), last + 1 - n);
      const fits = (n) => this.#seconds(begin(n), begin(n) + n) <= budget_s + 1e-9;
      const n = lastWhere(1, last - first + 1, fits);
      return this.#split(segment, begin(n), begin(n) + n);
    }

    /** What a segment shows of the shot of a frame, if that is as long as the budget; or else all of it. */
    #shotAround(frame, { start_frame, end_frame }, budget_s) {
      const { cuts } = this.#marks;
      const n = vastsum.firstAtLeast(cuts, frame + 1);
      const first = Math.max(start_frame, cuts[n - 1] ?? 0);
      const after = Math.min(end_frame + 1, cuts[n] ?? Infinity);
      return this.#seconds(first, after) >= budget_s ? [first, after - 1] : [start_frame, end_frame];
    }

    /** Choose frames start … stop − 1 of a segment; the rest becomes segments of its own. */
    #split({ start_frame: first, end_frame: last, origin }, start, stop) {
      const cuts = [first, ...[start, stop].filter((cut) => first < cut && cut <= last), last + 1];
      return cuts.slice(1).map((end, n) => ({ ...this.#span(cuts[n], end), selected: cuts[n] === start, origin }));
    }

    /** With the figures of summary.json. */
    #judged(segments) {
      const { importance, nothing_stands_out } = this.#given;
      const { middle, deviation } = spread(importance);
      const mean_s = mean(segments.map(({ start_s, end_s }) => end_s - start_s));
      const share = Math.min(Math.max(this.#budget, 0.001), 0.999);
      return segments.map(({ start_frame, end_frame, start_s, end_s, selected }) => {
        const own = meanOver(this.#means, { start_frame, end_frame });
        const stands = nothing_stands_out || isFlat(importance, deviation) ? 0 : (own - middle) / deviation;
        const odds = BASE + OF_STANDING * stands + OF_LENGTH * Math.log((end_s - start_s) / mean_s);
        return {
          start_frame,
          end_frame,
          start_s,
          end_s,
          importance: own,
          uncertainty: meanOver(this.#deviations, { start_frame, end_frame }),
          chance: 1 / (1 + Math.exp(-odds - OF_BUDGET * Math.log(share / (1 - share)))),
          selected,
        };
      });
    }

    #show(segments) {
      const given = this.#given;
      const chosen = segments.filter((segment) => segment.selected);
      const duration_s = durationOf(segments);
      this.summary = {
        ...given,
        segments,
        starts: [...this.#starts],
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
    const flat = isFlat(scores, deviation);
    const standing = (score) => Math.min(Math.max((score - middle) / deviation, -FURTHEST), FURTHEST);
    return scores.map((score) => (flat ? 1 : Math.exp(sharpness * standing(score))));
  }

  /** Scores that differ by less, relative to their size, differ by rounding. */
  function isFlat(scores, deviation) {
    return !(deviation > FLAT * scores.reduce((most, score) => Math.max(most, Math.abs(score)), 0));
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

  /** As Python compares tuples. */
  function ranksAbove(a, b) {
    const n = a.findIndex((value, at) => value !== b[at]);
    return n >= 0 && a[n] > b[n];
  }

  function sameNumbers(a, b) {
    return a.length === b.length && a.every((value, n) => value === b[n]);
  }

  function durationOf(segments) {
    return segments.reduce((sum, { start_s, end_s, selected }) => sum + (selected ? end_s - start_s : 0), 0);
  }

  /** The last whole number in first … last for which `fits` holds, which it does for the first, and then no more. */
  function lastWhere(first, last, fits) {
    let [low, high] = [first, last + 1];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (fits(middle)) low = middle;
      else high = middle;
    }
    return low;
  }
})((globalThis.vastsum ??= {}));
