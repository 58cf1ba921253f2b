/* How the timeline looks: draws a draft onto two canvases. timeline.js owns it and tells it when.

   const view = new vastsum.View()            what part of the video is shown, and where on the screen things are
   view.from_s, view.span_s, view.to_s        the part; view.x(time_s) and view.timeAt(x) lead to the screen and back
   view.layout                                top and bottom of ruler, strip, curve and lane, once painted

   const painter = new vastsum.Painter({ host, view, picture, whole, onPicture })
   painter.load(draft, thumbnails)
   painter.paint({ current, hovered, edge })  the segments at hand and under the pointer; { k, frame } of a dragged edge
   painter.thumbnailAt(time_s), painter.forgetColours()

   From top to bottom: a ruler, the film strip, importance with its band, the segments. Only what falls on a pixel is
   drawn. */
"use strict";
(function (vastsum) {
  const { element, timecode, firstAtLeast } = vastsum;
  const TIME_STEPS_S = [
    0.04, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400,
  ];
  const THINNEST_PX = 0.35; // to be seen, and yet not to make twelve per cent look like fifty
  const SHADES = 21;
  const OF_MEAN = 0.5; // the mean of people is that much surer than one person, as in chance.py

  vastsum.View = class View {
    from_s = 0;
    span_s = 1;
    layout = null;

    get to_s() {
      return this.from_s + this.span_s;
    }
    get middle_s() {
      return this.from_s + this.span_s / 2;
    }
    x(time_s) {
      return ((time_s - this.from_s) / this.span_s) * this.layout.width;
    }
    timeAt(x) {
      return this.from_s + (x / this.layout.width) * this.span_s;
    }
    shows(time_s) {
      return time_s >= this.from_s && time_s <= this.to_s;
    }
  };

  vastsum.Painter = class Painter {
    #host;
    #view;
    #picture;
    #whole;
    #onPicture;
    #draft;
    #thumbnails = [];
    #pickTimes;
    #extent; // of what was loaded
    #shown;
    #images = new Map();
    #colours = null;
    #wholeDrawn = [];

    constructor({ host, view, picture, whole, onPicture }) {
      [this.#host, this.#view, this.#picture, this.#whole, this.#onPicture] = [host, view, picture, whole, onPicture];
    }

    load(draft, thumbnails) {
      this.#draft = draft;
      this.#thumbnails = thumbnails;
      this.#pickTimes = Float64Array.from(draft.given.picks, (pick) => draft.timeOf(pick));
      this.#extent = importanceExtent(draft.given);
    }

    forgetColours() {
      this.#colours = null;
    }

    paint(shown) {
      const width = this.#picture.parentElement.clientWidth;
      this.#shown = shown;
      this.#colours ??= readColours(this.#host);
      this.#view.layout = layOut(width, this.#thumbnails.length > 0);
      const pen = freshPen(this.#picture, width, this.#view.layout.height);
      this.#drawChosenColumns(pen);
      this.#drawRuler(pen);
      this.#drawStrip(pen);
      this.#drawCurve(pen);
      this.#drawValues(pen);
      this.#drawLane(pen);
      this.#drawWhole();
    }

    get #summary() {
      return this.#draft.summary;
    }

    /** Segments at least partly in view, with the edge that is being dragged where it is now. */
    *#shownSegments() {
      const { segments } = this.#summary;
      const { edge } = this.#shown;
      for (
        let k = this.#draft.indexAt(this.#view.from_s);
        k < segments.length && segments[k].start_s < this.#view.to_s;
        k++
      ) {
        let { start_s, end_s } = segments[k];
        if (edge?.k === k) start_s = this.#draft.timeOf(edge.frame);
        if (edge?.k === k + 1) end_s = this.#draft.timeOf(edge.frame);
        yield { k, segment: segments[k], left: this.#view.x(start_s), right: this.#view.x(end_s) };
      }
    }

    #drawChosenColumns(pen) {
      const { curve, lane } = this.#view.layout;
      pen.fillStyle = this.#colours.tint;
      for (const { segment, left, right } of this.#shownSegments()) {
        if (segment.selected)
          pen.fillRect(left, curve.top, Math.max(right - left, THINNEST_PX), lane.bottom - curve.top);
      }
    }

    #drawRuler(pen) {
      const { ruler, curve, width } = this.#view.layout;
      const span = this.#view.span_s;
      const step_s = TIME_STEPS_S.find((step) => (span / step) * 76 <= width) ?? 86400;
      const decimals = step_s >= 1 ? 0 : step_s >= 0.1 ? 1 : 2;
      pen.font = `12px ${this.#colours.font}`;
      pen.textBaseline = "middle";
      for (let n = Math.ceil(this.#view.from_s / step_s); n * step_s <= this.#view.to_s; n++) {
        const x = this.#view.x(n * step_s);
        pen.fillStyle = this.#colours.line;
        pen.fillRect(x, ruler.bottom - 5, 1, 5);
        pen.fillRect(x, curve.top, 1, curve.bottom - curve.top);
        const label = timecode(n * step_s, decimals);
        const labelWidth = pen.measureText(label).width;
        pen.fillStyle = this.#colours.quiet;
        pen.fillText(
          label,
          Math.min(Math.max(x - labelWidth / 2, 2), width - labelWidth - 2),
          (ruler.top + ruler.bottom) / 2 - 1,
        );
      }
    }

    /** Pictures side by side, cut where segments are, so that each stands for what is under it. */
    #drawStrip(pen) {
      const { strip } = this.#view.layout;
      if (!strip) return;
      const height = strip.bottom - strip.top;
      const { video } = this.#summary;
      const usual = height * Math.min(Math.max(video.width / video.height, 0.5), 2.4);
      for (const { left, right } of this.#runs(usual / 2)) {
        const n = Math.max(Math.round((right - left) / usual), 1);
        for (let tile = 0; tile < n; tile++) {
          const [x, width] = [left + ((right - left) * tile) / n, (right - left) / n];
          const src = this.#thumbnailWithin(
            this.#view.timeAt(left),
            this.#view.timeAt(right),
            this.#view.timeAt(x + width / 2),
          );
          const image = this.#image(src);
          if (image) drawCovering(pen, image, x + 0.5, strip.top, width - 1, height);
          else {
            pen.fillStyle = this.#colours.sunk;
            pen.fillRect(x, strip.top, width - 1, height);
          }
        }
      }
      this.#dimLeftOut(pen, strip);
    }

    /** Neighbouring segments taken together until they are wide enough for a picture. */
    *#runs(enough) {
      let run = null;
      for (const { left, right } of this.#shownSegments()) {
        run = { left: run?.left ?? left, right };
        if (right - run.left < enough) continue;
        yield run;
        run = null;
      }
      if (run) yield run;
    }

    thumbnailAt(time_s) {
      return nearest(this.#thumbnails, time_s)?.src ?? null;
    }

    /** The picture nearest to a time, if possible one from this stretch. */
    #thumbnailWithin(from_s, to_s, time_s) {
      const nearby = nearest(this.#thumbnails, time_s);
      if (nearby.time_s >= from_s && nearby.time_s < to_s) return nearby.src;
      const inside = nearest(this.#thumbnails, nearby.time_s < from_s ? from_s : to_s, nearby.time_s < from_s ? 1 : -1);
      return inside && inside.time_s >= from_s && inside.time_s < to_s ? inside.src : nearby.src;
    }

    /** The film is lit where it was chosen. */
    #dimLeftOut(pen, strip) {
      pen.globalAlpha = 0.55;
      pen.fillStyle = this.#colours.card;
      for (const { segment, left, right } of this.#shownSegments()) {
        if (!segment.selected) pen.fillRect(left, strip.top, right - left, strip.bottom - strip.top);
      }
      pen.globalAlpha = 1;
      pen.fillStyle = this.#colours.outline;
      for (const { segment, left, right } of this.#shownSegments()) {
        if (segment.selected) pen.fillRect(left, strip.bottom, Math.max(right - left, THINNEST_PX), 3);
      }
    }

    /** Loaded when first needed; null until it is there. */
    #image(src) {
      if (!this.#images.has(src)) {
        const image = new Image();
        image.addEventListener("load", this.#onPicture);
        image.src = src;
        this.#images.set(src, image);
      }
      const image = this.#images.get(src);
      return image.complete && image.naturalWidth ? image : null;
    }

    /** Importance with its band: picks, or their mean where several fall on a pixel. Warm where it was chosen. */
    #drawCurve(pen) {
      const { curve } = this.#view.layout;
      const { band, curve: line, chosenBand, outline } = this.#colours;
      const paths = this.#curvePaths(curve, this.#view.from_s, this.#view.to_s);
      this.#drawPaths(pen, paths, band, line, 2);
      pen.save();
      pen.beginPath();
      for (const { segment, left, right } of this.#shownSegments()) {
        if (segment.selected) pen.rect(left, curve.top, Math.max(right - left, THINNEST_PX), curve.bottom - curve.top);
      }
      pen.clip();
      this.#drawPaths(pen, paths, chosenBand, outline, 2.5);
      pen.restore();
    }

    #drawPaths(pen, { band, line }, bandColour, lineColour, width) {
      pen.fillStyle = bandColour;
      pen.fill(band);
      pen.lineJoin = "round";
      pen.lineWidth = width;
      pen.strokeStyle = lineColour;
      pen.stroke(line);
    }

    #curvePaths(area, from_s, to_s) {
      const points = this.#pointsOnScreen(from_s, to_s);
      const [band, line] = [new Path2D(), new Path2D()];
      const y = (value) => this.#y(value, area);
      for (const { x, mean, std } of points) band.lineTo(x, y(mean + OF_MEAN * std));
      for (const { x, mean, std } of points.toReversed()) band.lineTo(x, y(mean - OF_MEAN * std));
      for (const { x, mean } of points) line.lineTo(x, y(mean));
      return { band, line };
    }

    #y(value, { top, bottom }) {
      const [low, high] = this.#extent;
      const share = Math.min(Math.max((value - low) / (high - low), 0), 1);
      return bottom - share * (bottom - top);
    }

    /** Two to four round values of importance. */
    #drawValues(pen) {
      const { curve } = this.#view.layout;
      const [low, high] = this.#extent;
      const rough = (high - low) / 3;
      const magnitude = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 5, 10].map((m) => m * magnitude).find((size) => size >= rough);
      pen.fillStyle = this.#colours.quiet;
      pen.font = `11px ${this.#colours.font}`;
      [pen.strokeStyle, pen.lineWidth] = [this.#colours.card, 4];
      for (let n = Math.ceil(low / step); n * step <= high; n++) {
        const y = this.#y(n * step, curve);
        if (y < curve.top + 8 || y > curve.bottom - 8) continue;
        const label = String(Number((n * step).toPrecision(6)));
        pen.strokeText(label, 5, y); // a halo, to be read on the curve
        pen.fillText(label, 5, y);
      }
    }

    #pointsOnScreen(from_s, to_s) {
      const { importance, uncertainty } = this.#summary;
      const times = this.#pickTimes,
        n = times.length,
        { width } = this.#view.layout;
      const first = Math.max(firstAtLeast(times, from_s) - 1, 0),
        last = Math.min(firstAtLeast(times, to_s), n - 1);
      const group = Math.max(Math.floor((last - first + 1) / width), 1);
      const points = [];
      const x = (time_s) => ((time_s - from_s) / (to_s - from_s)) * width;
      for (let t = first - (first % group); t <= last; t += group) {
        const size = Math.min(group, n - t);
        let time = 0,
          mean = 0,
          std = 0;
        for (let i = t; i < t + size; i++) {
          time += times[i];
          mean += importance[i];
          std += uncertainty[i];
        }
        points.push({ x: x(time / size), mean: mean / size, std: std / size });
      }
      // The first and the last value are drawn out to the ends of the video.
      if (points[0].x > 0) points.unshift({ ...points[0], x: 0 });
      if (points.at(-1).x < width) points.push({ ...points.at(-1), x: x(this.#summary.video.duration_s) });
      return points;
    }

    #drawLane(pen) {
      const { lane } = this.#view.layout;
      const shown = [...this.#shownSegments()];
      // Chosen ones last, so that they are seen however small.
      for (const wanted of [false, true]) {
        for (const { k, segment, left, right } of shown) {
          if (segment.selected !== wanted) continue;
          const wide = right - left > 4;
          const [x, w] = wide ? [left + 1, right - left - 2] : [left, Math.max(right - left, THINNEST_PX)];
          const inset = wanted ? 0 : 9;
          pen.fillStyle = this.#blockColour(segment);
          pen.beginPath();
          pen.roundRect(x, lane.top + inset, w, lane.bottom - lane.top - 2 * inset, wide ? 4 : 0);
          pen.fill();
          if (!wide) continue;
          if (wanted) stroke(pen, this.#colours.outline, 1);
          if (k === this.#shown.hovered) stroke(pen, this.#colours.ink, 1);
          if (this.#draft.heldAt(k) !== undefined) this.#drawHeld(pen, left, right, wanted);
        }
      }
      this.#drawMarks(pen);
      this.#drawCurrent(pen, shown);
    }

    /** Below the curve a line where somebody speaks; above the segments a tick at each hard cut. */
    #drawMarks(pen) {
      const { curve, lane } = this.#view.layout;
      const { cuts, speech, empty } = this.#draft.marks;
      const shown = ({ first_frame, last_frame }) => [
        this.#view.x(this.#draft.timeOf(first_frame)),
        this.#view.x(this.#draft.timeOf(last_frame + 1)),
      ];
      const fill = (stretches, colour, top, height) => {
        pen.fillStyle = colour;
        for (const stretch of stretches) {
          const [left, right] = shown(stretch);
          if (right >= 0 && left <= this.#view.layout.width) pen.fillRect(left, top, Math.max(right - left, 1), height);
        }
      };
      fill(speech, this.#colours.quiet, curve.bottom + 1, 3);
      fill(empty, this.#colours.ink, lane.bottom - 4, 4);
      pen.fillStyle = this.#colours.ink;
      let drawn = -Infinity;
      for (const cut of cuts) {
        const x = this.#view.x(this.#draft.timeOf(cut));
        if (x < 0 || x > this.#view.layout.width || x - drawn < 3) continue;
        pen.fillRect(x - 0.5, curve.bottom + 4, 1, 4);
        drawn = x;
      }
    }

    #blockColour({ selected, chance }) {
      const { chosen, leftOut } = this.#colours;
      const shade = selected ? chance / vastsum.CLEAR : 1 - chance / vastsum.CLEAR;
      return (selected ? chosen : leftOut)[Math.round(Math.min(Math.max(shade, 0), 1) * (SHADES - 1))];
    }

    /** A dot: a person decided. */
    #drawHeld(pen, left, right, selected) {
      const { lane } = this.#view.layout;
      pen.beginPath();
      pen.arc((left + right) / 2, (lane.top + lane.bottom) / 2, Math.min(4, (right - left) / 4), 0, 2 * Math.PI);
      pen.fillStyle = selected ? this.#colours.card : this.#colours.ink;
      pen.fill();
      stroke(pen, this.#colours.ink, 1.5);
    }

    /** A frame with grips around the segment at hand. */
    #drawCurrent(pen, shown) {
      const at = shown.find(({ k }) => k === this.#shown.current);
      if (!at) return;
      const { lane } = this.#view.layout;
      const width = Math.max(at.right - at.left, 3);
      pen.beginPath();
      pen.roundRect(at.left, lane.top - 3, width, lane.bottom - lane.top + 6, 5);
      stroke(pen, this.#colours.ink, 2);
      if (width < 24) return;
      pen.fillStyle = this.#colours.ink;
      for (const x of [at.left, at.right]) {
        pen.beginPath();
        pen.roundRect(x - 3, (lane.top + lane.bottom) / 2 - 9, 6, 18, 3);
        pen.fill();
      }
    }

    /** The whole video in small, drawn anew only when something about it changed. */
    #drawWhole() {
      const { width } = this.#view.layout;
      const height = this.#whole.parentElement.clientHeight;
      const drawn = [this.#summary, this.#colours, width, height];
      if (drawn.every((one, n) => one === this.#wholeDrawn[n])) return;
      this.#wholeDrawn = drawn;
      const pen = freshPen(this.#whole, width, height);
      const duration_s = this.#summary.video.duration_s;
      const x = (time_s) => (time_s / duration_s) * width;
      for (const segment of this.#summary.segments) {
        if (!segment.selected) continue;
        pen.fillStyle = this.#blockColour(segment);
        pen.fillRect(x(segment.start_s), 0, Math.max(x(segment.end_s) - x(segment.start_s), THINNEST_PX), height);
      }
      const { line } = this.#curvePaths({ top: 3, bottom: height - 3 }, 0, duration_s);
      pen.strokeStyle = this.#colours.curve;
      pen.stroke(line);
    }
  };

  // ---- pens and colours ----

  function layOut(width, hasPictures) {
    const small = width < 560;
    const ruler = { top: 0, bottom: 24 };
    const strip = hasPictures ? { top: ruler.bottom, bottom: ruler.bottom + (small ? 44 : 68) } : null;
    const curveTop = (strip ?? ruler).bottom + 6;
    const curve = { top: curveTop, bottom: curveTop + (small ? 110 : 150) };
    const lane = { top: curve.bottom + 8, bottom: curve.bottom + 8 + (small ? 48 : 44) };
    return { width, ruler, strip, curve, lane, height: lane.bottom + 6 };
  }

  function freshPen(canvas, width, height) {
    const scale = globalThis.devicePixelRatio || 1;
    const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
    if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    return pen;
  }

  function stroke(pen, colour, width) {
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.stroke();
  }

  function drawCovering(pen, image, x, y, width, height) {
    const scale = Math.max(width / image.naturalWidth, height / image.naturalHeight);
    const [w, h] = [width / scale, height / scale];
    pen.drawImage(image, (image.naturalWidth - w) / 2, (image.naturalHeight - h) / 2, w, h, x, y, width, height);
  }

  /** The theme's colours as the canvas takes them, light-dark() resolved. */
  function readColours(host) {
    const probe = host.appendChild(element("i", { hidden: true }));
    const colour = (name) => {
      probe.style.color = `var(--${name})`;
      return getComputedStyle(probe).color;
    };
    const named = ["ink", "quiet", "line", "sunk", "card", "curve", "band", "tint", "outline"];
    const colours = {
      ...Object.fromEntries(named.map((name) => [name, colour(name)])),
      chosenBand: colour("chosen-band"),
      chosen: shades(colour("unlikely"), colour("clear")),
      leftOut: shades(colour("unsure"), colour("left-out")),
      font: getComputedStyle(host).fontFamily,
    };
    probe.remove();
    return colours;
  }

  /** Steps from one rgb(…) to another. */
  function shades(first, last) {
    const [from, to] = [first, last].map((colour) =>
      colour
        .match(/[\d.]+/g)
        .slice(0, 3)
        .map(Number),
    );
    const between = (share) => from.map((part, n) => Math.round(part + (to[n] - part) * share));
    return Array.from({ length: SHADES }, (_, n) => `rgb(${between(n / (SHADES - 1)).join(" ")})`);
  }

  /** The curve is to be read: it fills most of its area, whatever of the band is cut off. */
  function importanceExtent({ importance }) {
    const low = importance.reduce((a, b) => Math.min(a, b));
    const high = importance.reduce((a, b) => Math.max(a, b));
    const margin = 0.25 * (high - low) || Math.max(Math.abs(high), 1) * 0.1;
    return [low - margin, high + margin];
  }

  /** The thumbnail nearest to a time; with `side` the nearest at or after it (1), or before it (-1). */
  function nearest(thumbnails, time_s, side = 0) {
    let low = 0,
      high = thumbnails.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (thumbnails[middle].time_s < time_s) low = middle + 1;
      else high = middle;
    }
    const [before, after] = [thumbnails[low - 1], thumbnails[low]];
    if (side !== 0) return side > 0 ? after : before;
    return before && after && time_s - before.time_s < after.time_s - time_s ? before : (after ?? before);
  }
})((globalThis.vastsum ??= {}));
