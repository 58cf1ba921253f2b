/* The evaluation page: a section for each benchmark, with tables, plots, and each video against its annotators. */
"use strict";
(function (vastsum) {
  const { element, svg, path } = vastsum;
  const VIDEO_COLUMNS = ["tau", "rho", "f1", "score_tau", "caught", "nll", "jaccard"];

  const data = JSON.parse(document.getElementById("data").textContent);

  function start() {
    document.getElementById("title").textContent = data.title;
    document.getElementById("sections").append(...data.sections.map(section));
    if (data.sections.length > 1) {
      document
        .getElementById("contents")
        .append(...data.sections.map(({ title }, n) => element("a", { href: `#section-${n}` }, title)));
    }
  }

  function section(content, n) {
    const { title, facts, notes } = content;
    const shown = element("div", { className: "stack" });
    const fill = (protocol) => shown.replaceChildren(...parts(under(protocol, content)));
    const protocols = [...new Set(content.tables.flatMap(({ rows }) => rows.map(({ protocol }) => protocol)))].filter(
      Boolean,
    );
    const choice =
      protocols.length < 2
        ? null
        : element(
            "select",
            { ariaLabel: `Protocol, ${title}`, onchange: () => fill(choice.value) },
            element("option", { value: "" }, "every protocol"),
            protocols.map((protocol) => element("option", {}, protocol)),
          );
    fill("");
    return element(
      "section",
      { id: `section-${n}`, ariaLabel: title },
      element("h2", { className: data.sections.length > 1 ? "" : "unseen" }, title),
      element(
        "div",
        { className: "pick" },
        element("p", { className: "quiet" }, [content.kind, ...facts].join(", ")),
        choice,
      ),
      shown,
      notes.length
        ? element(
            "ul",
            { className: "notes" },
            notes.map((note) => element("li", {}, note)),
          )
        : null,
    );
  }

  /** The rows of one protocol, and the references, which stand beside all. */
  function under(protocol, content) {
    const belongs = (row) => !protocol || !row.protocol || row.protocol === protocol;
    const { tables, predicted, calibration, stability } = content;
    return {
      ...content,
      predicted: predicted.filter(belongs),
      stability: stability.filter(belongs),
      tables: tables.map((table) => ({ ...table, rows: table.rows.filter(belongs) })),
      calibration: { ...calibration, curves: calibration.curves.filter(belongs) },
    };
  }

  function parts(content) {
    const { tables, predicted, calibration, stability } = content;
    const card = (heading, ...children) =>
      element("div", { className: "card" }, element("h3", {}, heading), ...children);
    const made = tables.filter(({ rows }) => rows.length).map((table) => card(table.title, benchmarkTable(table)));
    const plots = [];
    if (calibration.curves.length)
      plots.push(
        card(
          "Is the uncertainty right?",
          element("p", { className: "notes" }, `${calibration.meaning} On the diagonal it is right.`),
          vastsum.calibrationPlot(calibration),
        ),
      );
    if (stability.length)
      plots.push(
        card(
          "Does the summary stand?",
          element(
            "p",
            { className: "notes" },
            "Overlap of each video's summary with those chosen after a little noise on the scores. 1 is firm.",
          ),
          vastsum.dotPlot(stability, "Jaccard overlap under noise"),
        ),
      );
    if (plots.length) made.push(element("div", { className: "pair" }, plots));
    if (predicted.length) made.push(card("Videos", new Videos(content).root));
    return made;
  }

  // ---- tables ----

  /** Columns: { name, meaning, of(row) -> number, text or null, show(row) -> cell, isText }. */
  function sortableTable(columns, rows, label) {
    const body = element("tbody");
    let sorted = { column: null, descending: false };
    const heads = columns.map((column) =>
      element(
        "th",
        { scope: "col", className: column.isText ? "text" : "" },
        element("button", { type: "button", title: column.meaning ?? "", onclick: () => sort(column) }, column.name),
      ),
    );
    const missingLast = (a, b) => (a === null) - (b === null);
    function sort(column) {
      const descending = sorted.column === column ? !sorted.descending : !column.isText;
      sorted = { column, descending };
      const compared = (a, b) => (column.isText ? String(a).localeCompare(String(b)) : a - b) * (descending ? -1 : 1);
      const ordered = [...rows].sort(
        (a, b) => missingLast(column.of(a.row), column.of(b.row)) || compared(column.of(a.row), column.of(b.row)),
      );
      heads.forEach((head, n) => {
        head.ariaSort = columns[n] === column ? (descending ? "descending" : "ascending") : "none";
      });
      body.replaceChildren(...ordered.map(({ line }) => line));
    }
    body.append(...rows.map(({ line }) => line));
    return element("table", { ariaLabel: label }, element("thead", {}, element("tr", {}, heads)), body);
  }

  function benchmarkTable({ title, columns, rows }) {
    const best = columns.map((column, n) =>
      bestValue(
        column,
        rows.filter(({ kind }) => kind === "measured").map(({ cells }) => cells[n]),
      ),
    );
    const greatest = columns.map((_, n) => Math.max(...rows.map(({ cells }) => cells[n]?.mean ?? 0)));
    const asRows = rows.map((row) => ({
      row,
      line: element(
        "tr",
        { className: `${row.kind} best-of` },
        element(
          "td",
          { className: "text", title: row.meaning },
          row.method,
          row.kind === "quoted" ? element("small", {}, " published") : null,
        ),
        element("td", { className: "text" }, row.protocol),
        ...row.cells.map((cell, n) =>
          numberCell(cell, columns[n], cell && row.kind === "measured" && cell.mean === best[n], greatest[n]),
        ),
      ),
    }));
    const shown = [
      { name: "method", isText: true, of: (row) => row.method },
      { name: "protocol", isText: true, of: (row) => row.protocol },
      ...columns.map((column, n) => ({
        name: column.name,
        meaning: column.meaning,
        of: (row) => row.cells[n]?.mean ?? null,
      })),
    ];
    const meanings = element(
      "ul",
      { className: "notes" },
      rows.map(({ method, protocol, meaning }) =>
        element("li", {}, element("b", {}, protocol ? `${method} · ${protocol}` : method), `: ${meaning}`),
      ),
    );
    return element(
      "div",
      {},
      element("div", { className: "scroll" }, sortableTable(shown, asRows, title)),
      element(
        "details",
        { className: "notes" },
        element("summary", {}, "How to read it"),
        element(
          "ul",
          {},
          columns.map(({ name, meaning }) => element("li", {}, element("b", {}, name), `: ${meaning}`)),
        ),
        meanings,
        element(
          "p",
          {},
          "± is the standard deviation over seeds. The best measured value of a column is coloured; " +
            "references and published numbers are set apart.",
        ),
      ),
    );
  }

  function numberCell(cell, column, isBest, greatest) {
    if (!cell) return element("td", {}, "—");
    const shown = element(isBest ? "b" : "span", {}, cell.mean.toFixed(3));
    const made = element(
      "td",
      { className: column.best === "high" ? "bar" : "" },
      shown,
      cell.std_over_seeds ? element("small", {}, ` ± ${cell.std_over_seeds.toFixed(3)}`) : null,
    );
    made.style.setProperty("--share", greatest > 0 ? Math.max(cell.mean / greatest, 0) : 0);
    return made;
  }

  function bestValue({ best }, cells) {
    const means = cells.filter(Boolean).map(({ mean }) => mean);
    if (!means.length) return null;
    const distance = (mean) => (best === "high" ? -mean : best === "low" ? mean : Math.abs(mean - best));
    return means.reduce((a, b) => (distance(b) < distance(a) ? b : a));
  }

  // ---- videos ----

  /** A list of videos that sorts, and beside it the one at hand: prediction with its band, people, and each person. */
  class Videos {
    constructor({ videos, predicted, tables }) {
      this.labels = predicted.map(({ label }) => label);
      this.series = new Map(predicted.map(({ label, series }) => [label, series]));
      this.videos = videos
        .filter((video) => this.labels.some((label) => label in video.predictions))
        .map((video) => ({ ...video, people: peopleOf(video) }));
      this.columns = tables.flatMap(({ columns }) => columns).filter(({ metric }) => VIDEO_COLUMNS.includes(metric));
      this.label = this.labels[0];
      this.person = null;
      this.list = element("div", { className: "scroll tall", tabIndex: 0, role: "group", ariaLabel: "Videos" });
      this.detail = element("div");
      const methods = element(
        "select",
        {
          ariaLabel: "Method",
          onchange: () => {
            this.label = methods.value;
            this.fill();
          },
        },
        this.labels.map((label) => element("option", {}, label)),
      );
      this.persons = element("select", {
        ariaLabel: "Person",
        onchange: () => {
          this.highlight(this.persons.value === "" ? null : Number(this.persons.value));
        },
      });
      this.root = element(
        "div",
        {},
        element("div", { className: "pick" }, methods, this.persons),
        element("div", { className: "video" }, this.list, this.detail),
      );
      this.show(this.videos[0]);
      this.fill();
      const redraw = () => this.drawRaster();
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
      new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    }

    get prediction() {
      return this.video.predictions[this.label];
    }

    fill() {
      const metric = (video, name) => video.predictions[this.label]?.metrics[name] ?? null;
      const rows = this.videos
        .filter((video) => this.label in video.predictions)
        .map((video) => ({
          row: video,
          line: element(
            "tr",
            { "data-name": video.name },
            element(
              "td",
              { className: "text" },
              element(
                "button",
                { type: "button", title: video.title || video.name, onclick: () => this.show(video) },
                video.title || video.name,
              ),
            ),
            this.columns.map(({ metric: name }) => element("td", {}, metric(video, name)?.toFixed(2) ?? "—")),
          ),
        }));
      const columns = [
        { name: "video", isText: true, of: (video) => video.title || video.name },
        ...this.columns.map(({ metric: name, name: shown, meaning }) => ({
          name: shown,
          meaning,
          of: (video) => metric(video, name),
        })),
      ];
      this.list.replaceChildren(sortableTable(columns, rows, `Videos, ${this.label}`));
      this.show(this.label in this.video.predictions ? this.video : rows[0].row);
    }

    show(video) {
      this.video = video;
      this.person = null;
      this.persons.replaceChildren(
        element("option", { value: "" }, `${video.n_annotators} people`),
        ...video.people.rows.map((_, n) => element("option", { value: String(n) }, `person ${n + 1}`)),
      );
      for (const line of this.list.querySelectorAll("tr"))
        line.classList.toggle("at-hand", line.dataset.name === video.name);
      if (this.prediction) this.draw();
    }

    draw() {
      const { video, prediction } = this;
      const series = this.series.get(this.label);
      const chosen = element("i", { className: "fill" });
      chosen.style.background = "var(--stable)";
      const peopleMark = element("i", { className: "dashed" });
      peopleMark.style.borderColor = "var(--ink)";
      this.figure = element("figure", {
        className: "plot",
        tabIndex: 0,
        role: "slider",
        ariaLabel: `Frame of ${video.name}`,
        ariaValueMin: "0",
        ariaValueMax: String(video.n_frames - 1),
        onkeydown: (event) => this.step(event),
        onpointermove: (event) => this.point(event),
      });
      this.raster = element("canvas", {
        className: "raster",
        "aria-hidden": "true",
        onpointermove: (event) => this.pointPerson(event),
        onpointerleave: () => this.highlight(null),
      });
      this.readout = element("p", { className: "readout" });
      this.detail.replaceChildren(
        element("h3", {}, video.title || video.name),
        element("p", { className: "notes" }, `${video.name}, predicted by ${this.label} (${prediction.origin})`),
        this.figure,
        this.raster,
        element(
          "div",
          { className: "keys" },
          vastsum.seriesMark("prediction ± its deviation", series),
          element("span", {}, peopleMark, "mean of people"),
          element("span", {}, chosen, "chosen at 15 %"),
          element("span", {}, "below: one row a person; the stronger, the more important"),
        ),
        this.readout,
      );
      this.at(Math.floor(video.picks.length / 2));
      vastsum.drawnToWidth(this.figure, (width) => this.curves(width));
      this.drawRaster();
    }

    curves(width) {
      const { video, prediction } = this;
      const height = 230,
        [left, right, top, bottom] = [34, width - 4, 8, 204];
      const values = prediction.mean.flatMap((mean, t) => [mean - prediction.std[t], mean + prediction.std[t]]);
      const [low, high] = [Math.min(0, ...values), Math.max(1, ...values)];
      this.x = (frame) => left + (frame / video.n_frames) * (right - left);
      this.frameAt = (x) => ((x - left) / (right - left)) * video.n_frames;
      const y = (value) => bottom - ((value - low) / (high - low)) * (bottom - top);
      const line = (numbers) => path(numbers.map((value, t) => [this.x(video.picks[t]), y(value)]));
      const { mean, std } = prediction;
      const colour = vastsum.seriesColour(this.series.get(this.label));
      const band = [
        ...mean.map((m, t) => [this.x(video.picks[t]), y(m + std[t])]),
        ...mean.map((m, t) => [this.x(video.picks[t]), y(m - std[t])]).reverse(),
      ];
      this.personLine = (numbers) => (numbers ? line(numbers) : "");
      this.personPath = svg("path", {
        class: "person",
        d: this.personLine(this.person === null ? null : video.people.rows[this.person]),
      });
      this.cross = svg("path", { class: "cross", d: "" });
      queueMicrotask(() => this.placeCross());
      return svg(
        "svg",
        { height, "aria-hidden": "true" },
        prediction.chosen.flatMap(([from, to]) => {
          const [x, width] = [this.x(from), Math.max(this.x(to + 1) - this.x(from), 1)];
          return [
            svg("rect", { class: "chosen", x, y: top, width, height: bottom - top }),
            svg("rect", { class: "chosen-mark", x, y: bottom - 1, width, height: 5 }),
          ];
        }),
        [0, 0.5, 1].flatMap((tick) => [
          svg("path", { class: "grid", d: `M${left},${y(tick)}H${right}` }),
          svg("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, String(tick)),
        ]),
        [0, 0.5, 1].map((share, n) =>
          svg(
            "text",
            { x: left + share * (right - left), y: bottom + 18, "text-anchor": ["start", "middle", "end"][n] },
            n === 0 ? "frame 0" : String(Math.round(share * video.n_frames)),
          ),
        ),
        svg("path", { class: "band", d: `${path(band)}Z`, style: { fill: colour } }),
        this.personPath,
        svg("path", { class: "people", d: line(video.people.mean) }),
        svg("path", { class: "line", d: line(mean), style: { stroke: colour } }),
        this.cross,
      );
    }

    drawRaster() {
      if (!this.raster) return;
      const { video } = this;
      const { rows } = video.people;
      const rowHeight = Math.max(Math.min(Math.floor(180 / rows.length), 14), 5);
      const [width, height] = [Math.min(video.n_frames, 1400), rows.length];
      [this.raster.width, this.raster.height] = [width, height];
      this.raster.style.height = `${rowHeight * rows.length}px`;
      const [dark, light] = [colourOf("--curve"), colourOf("--sunk")];
      const pen = this.raster.getContext("2d");
      const pixels = pen.createImageData(width, height);
      for (let column = 0, t = 0; column < width; column++) {
        while (t + 1 < video.picks.length && video.picks[t + 1] <= (column / width) * video.n_frames) t++;
        rows.forEach((scores, person) => {
          const at = 4 * (person * width + column);
          for (let part = 0; part < 3; part++)
            pixels.data[at + part] = light[part] + (dark[part] - light[part]) * scores[t];
          pixels.data[at + 3] = 255;
        });
      }
      pen.putImageData(pixels, 0, 0);
    }

    // ---- pointing ----

    point(event) {
      const { left } = this.figure.getBoundingClientRect();
      const frame = this.frameAt(event.clientX - left);
      const after = this.video.picks.findIndex((pick) => pick > frame);
      this.at(Math.max((after < 0 ? this.video.picks.length : after) - 1, 0));
    }

    step(event) {
      const by = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1, PageDown: -10, PageUp: 10 }[event.key];
      if (!by) return;
      event.preventDefault();
      this.at(Math.min(Math.max(this.t + by, 0), this.video.picks.length - 1));
    }

    at(t) {
      const { video, prediction } = this;
      this.t = t;
      const said = video.people.rows.map((scores) => scores[t]);
      const text =
        `Frame ${video.picks[t]}: predicted ${prediction.mean[t].toFixed(2)} ± ${prediction.std[t].toFixed(2)}; ` +
        `people ${video.people.mean[t].toFixed(2)}, ` +
        `from ${Math.min(...said).toFixed(2)} to ${Math.max(...said).toFixed(2)}`;
      this.readout.textContent =
        this.person === null ? text : `${text}; person ${this.person + 1} ${said[this.person].toFixed(2)}`;
      this.figure.ariaValueNow = String(video.picks[t]);
      this.figure.ariaValueText = this.readout.textContent;
      this.placeCross();
    }

    placeCross() {
      if (this.cross) this.cross.setAttribute("d", `M${this.x(this.video.picks[this.t])},8V204`);
    }

    pointPerson(event) {
      const { top, height } = this.raster.getBoundingClientRect();
      this.highlight(
        Math.min(
          Math.max(Math.floor(((event.clientY - top) / height) * this.video.n_annotators), 0),
          this.video.n_annotators - 1,
        ),
      );
    }

    highlight(person) {
      this.person = person;
      this.persons.value = person === null ? "" : String(person);
      this.personPath?.setAttribute("d", this.personLine(person === null ? null : this.video.people.rows[person]));
      this.at(this.t);
    }
  }

  /** What each person said at each pick, from 0 to 1, and their mean. */
  function peopleOf({ annotations, n_annotators, picks }) {
    const bytes = Uint8Array.from(atob(annotations), (letter) => letter.charCodeAt(0));
    const rows = Array.from({ length: n_annotators }, (_, person) =>
      Array.from(bytes.subarray(person * picks.length, (person + 1) * picks.length), (byte) => byte / 255),
    );
    return { rows, mean: picks.map((_, t) => rows.reduce((sum, row) => sum + row[t], 0) / n_annotators) };
  }

  function colourOf(name) {
    const probe = document.body.appendChild(element("i", { hidden: true }));
    probe.style.color = `var(${name})`;
    const parts = getComputedStyle(probe)
      .color.match(/[\d.]+/g)
      .slice(0, 3)
      .map(Number);
    probe.remove();
    return parts;
  }

  start();
})(globalThis.vastsum);
