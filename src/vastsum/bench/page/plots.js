/* Small plots as SVG, in the theme's colours; drawn to the width there is, so that texts keep their size.

   vastsum.svg("path", { d: "…", class: "line" }, …children)
   vastsum.drawnToWidth(figure, (width) => svg)      draws now and whenever the figure's width changes
   vastsum.calibrationPlot({ curves, across, up })   promised shares across, observed ones up
                                                     curves: [{ label, series, points: [[promised, observed], …] }, …]
   vastsum.dotPlot(rows, meaning)                    one row a method, one dot a video, a bar at the mean
                                                     rows: [{ label, series, values }, …]
   vastsum.seriesColour(n), vastsum.seriesDash(n)    the look of the n-th method */
"use strict";
(function (vastsum) {
  const { element } = vastsum;
  const N_COLOURS = 8;

  vastsum.seriesColour = (n) => `var(--series-${n % N_COLOURS})`;
  vastsum.seriesDash = (n) => (n < N_COLOURS ? "none" : "6 3");

  vastsum.svg = function (tag, attributes = {}, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    const { style = {}, ...others } = attributes;
    for (const [name, value] of Object.entries(others)) made.setAttribute(name, value);
    for (const [name, value] of Object.entries(style)) made.style.setProperty(name, value);
    made.append(...children.flat());
    return made;
  };
  const { svg } = vastsum;

  vastsum.drawnToWidth = function (figure, draw) {
    let width = 0;
    new ResizeObserver(() => {
      const now = Math.round(figure.clientWidth);
      if (!now || now === width) return;
      width = now;
      figure.querySelector("svg")?.remove();
      figure.prepend(draw(width));
    }).observe(figure);
    return figure;
  };

  vastsum.calibrationPlot = function ({ curves, across, up }) {
    const marks = curves.map(({ label, series }) => seriesMark(label, series));
    const off = ({ points }) => points.reduce((sum, [x, y]) => sum + Math.abs(x - y), 0) / points.length;
    const figure = element(
      "figure",
      {
        role: "img",
        ariaLabel:
          `${up}, over ${across}. Mean distance from the diagonal: ` +
          curves.map((curve) => `${curve.label} ${off(curve).toFixed(2)}`).join("; "),
      },
      element("div", { className: "keys" }, marks),
    );
    return vastsum.drawnToWidth(figure, (width) => {
      const [left, top, size] = [44, 10, Math.min(width - 60, 330)];
      const x = (share) => left + share * size,
        y = (share) => top + (1 - share) * size;
      const ticks = [0, 0.25, 0.5, 0.75, 1];
      return svg(
        "svg",
        { height: size + 60, "aria-hidden": "true" },
        ticks.flatMap((tick) => [
          svg("path", { class: "grid", d: `M${x(tick)},${y(0)}V${y(1)}M${x(0)},${y(tick)}H${x(1)}` }),
          svg("text", { x: x(tick), y: y(0) + 18, "text-anchor": "middle" }, `${100 * tick} %`),
          svg("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, `${100 * tick}`),
        ]),
        svg("text", { x: x(0.5), y: y(0) + 38, "text-anchor": "middle" }, across),
        svg("path", { class: "ideal", d: `M${x(0)},${y(0)}L${x(1)},${y(1)}` }),
        curves.map(({ points, series }) =>
          svg("path", {
            class: "line",
            d: path(points.map(([promised, seen]) => [x(promised), y(seen)])),
            style: { stroke: vastsum.seriesColour(series), "stroke-dasharray": vastsum.seriesDash(series) },
          }),
        ),
      );
    });
  };

  vastsum.dotPlot = function (rows, meaning) {
    const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
    const figure = element("figure", {
      role: "img",
      ariaLabel: `${meaning}: ` + rows.map(({ label, values }) => `${label} ${mean(values).toFixed(2)}`).join("; "),
    });
    return vastsum.drawnToWidth(figure, (width) => {
      const left = Math.min(170, 0.36 * width),
        right = width - 46,
        step = 30;
      const x = (share) => left + share * (right - left);
      const bottom = rows.length * step + 8;
      return svg(
        "svg",
        { height: bottom + 46, "aria-hidden": "true" },
        [0, 0.25, 0.5, 0.75, 1].flatMap((tick) => [
          svg("path", { class: "grid", d: `M${x(tick)},4V${bottom}` }),
          svg("text", { x: x(tick), y: bottom + 18, "text-anchor": "middle" }, String(tick)),
        ]),
        svg("text", { x: x(0.5), y: bottom + 38, "text-anchor": "middle" }, meaning),
        rows.flatMap(({ label, series, values }, n) => {
          const y = 4 + (n + 0.5) * step;
          const colour = vastsum.seriesColour(series);
          return [
            svg("text", { x: left - 10, y: y + 4, "text-anchor": "end" }, shortened(label, Math.floor(left / 7))),
            ...values.map((value) =>
              svg("circle", { cx: x(value), cy: y, r: 4, style: { fill: colour, opacity: 0.4 } }),
            ),
            svg("path", { d: `M${x(mean(values))},${y - 10}v20`, style: { stroke: colour, "stroke-width": 3 } }),
            svg("text", { x: right + 8, y: y + 4 }, mean(values).toFixed(2)),
          ];
        }),
      );
    });
  };

  vastsum.seriesMark = seriesMark;
  function seriesMark(label, n) {
    const line = element("i", { className: vastsum.seriesDash(n) === "none" ? "" : "dashed" });
    line.style.borderColor = vastsum.seriesColour(n);
    return element("span", {}, line, label);
  }

  vastsum.path = path;
  function path(points) {
    return points.map(([x, y], n) => `${n ? "L" : "M"}${x.toFixed(1)},${y.toFixed(1)}`).join("");
  }

  function shortened(text, n) {
    return text.length <= n ? text : `${text.slice(0, Math.max(n - 1, 1))}…`;
  }
})(globalThis.vastsum);
