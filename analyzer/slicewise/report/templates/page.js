"use strict";
/* Unpacks what the page carries and draws it. */
(() => {
  const CONFIG = { displayModeBar: "hover", doubleClick: "reset", displaylogo: false, responsive: true, modeBarButtons: [["toImage", "resetScale2d"]] };
  const MOST_NUMBERS = 5000; /* rows of a chart's table */
  const charts = [...document.querySelectorAll(".chart")];

  async function unpacked(id) {
    const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  }

  function run(source) {
    const script = document.createElement("script");
    script.textContent = source;
    document.head.append(script);
  }

  /* The layout's colours in the reader's colour scheme, as Plotly.relayout takes them. */
  function colours(layout) {
    const style = getComputedStyle(document.documentElement);
    const [paper, ink, soft, line, grid] = ["paper", "ink", "soft", "line", "grid"].map((name) => style.getPropertyValue("--" + name).trim());
    const chosen = {
      "font.color": soft, "hoverlabel.bgcolor": paper, "hoverlabel.bordercolor": line, "hoverlabel.font.color": ink,
      "modebar.bgcolor": "rgba(0,0,0,0)", "modebar.color": line, "modebar.activecolor": soft,
    };
    for (const axis of Object.keys(layout).filter((name) => /^[xy]axis\d*$/.test(name)))
      Object.assign(chosen, { [axis + ".gridcolor"]: grid, [axis + ".linecolor"]: line, [axis + ".tickcolor"]: line });
    return chosen;
  }

  function set(object, [name, ...rest], value) {
    if (rest.length === 0) object[name] = value;
    else set((object[name] ??= {}), rest, value);
  }

  /* Titles of axes and notes in a chart that is narrower than they are: as large as there is room, and readable. */
  async function fitTexts(chart) {
    const box = chart.getBoundingClientRect(), change = {}, MARGIN = 4, LEAST = 0.66;
    chart.ownSizes ??= {};
    /* room: what it may take, of the middle and the width that it has at its own size. */
    const shrink = (path, element, size, room) => {
      if (!element || !size) return;
      const own = (chart.ownSizes[path] ??= size), { left, right } = element.getBoundingClientRect();
      const width = ((right - left) * own) / size, fitted = own * Math.max(LEAST, Math.min(1, room((left + right) / 2, width) / width));
      if (Math.abs(fitted - size) > 0.1) change[path] = fitted;
    };
    for (const name of Object.keys(chart._fullLayout).filter((key) => /^xaxis\d*$/.test(key))) {
      const axis = chart._fullLayout[name];
      shrink(`${name}.title.font.size`, chart.querySelector(`.${axis._id}title`), axis.title?.font?.size, (middle) => 2 * (Math.min(middle - box.left, box.right - middle) - MARGIN));
    }
    for (const [place, note] of (chart._fullLayout.annotations ?? []).entries()) {
      if (note.xanchor !== "left" || note.xref !== "paper" || note.x !== 0) continue;
      /* The head of a row begins at the chart's edge where the plot's is too far to the right. */
      shrink(`annotations[${place}].font.size`, chart.querySelector(`.annotation[data-index="${place}"] .annotation-text`), note.font?.size, (_, width) => {
        const start = chart._fullLayout._size.l, isCut = start + width + MARGIN > box.width, shift = isCut ? MARGIN - start : 0;
        if (note.xshift !== shift) change[`annotations[${place}].xshift`] = shift;
        return isCut ? box.width - 2 * MARGIN : width;
      });
    }
    /* Names beside bars take no more than half of a small screen. */
    if (chart._fullLayout.yaxis?.type === "category" && chart._fullLayout.yaxis.tickfont) {
      const own = (chart.ownSizes.names ??= chart._fullLayout.yaxis.tickfont.size), size = chart.clientWidth < 520 ? 0.72 * own : own;
      if (chart._fullLayout.yaxis.tickfont.size !== size) change["yaxis.tickfont.size"] = size;
    }
    if (Object.keys(change).length) await Plotly.relayout(chart, change);
  }

  /* Room for all of the legend and for whole labels of the clock, whatever the page's width. */
  async function fit(chart) {
    const layout = chart._fullLayout, legend = layout.legend?._height ?? 0, width = chart.clientWidth;
    const height = chart.ownHeight + Math.max(0, layout.showlegend ? legend + 14 - Math.max(44, chart.ownTop) : 0);
    const change = {};
    if (Math.abs(height - layout.height) > 1) Object.assign(change, { "legend.maxheight": Math.max(legend + 2, 1.1) });
    if ("linked" in chart.dataset) Object.assign(change, { "xaxis.nticks": Math.max(2, Math.min(9, Math.floor((width - 110) / 90))), "xaxis.tickangle": 0 });
    const isOther = "legend.maxheight" in change;
    if (isOther || ("xaxis.nticks" in change && chart.layout.xaxis.nticks !== change["xaxis.nticks"])) await Plotly.relayout(chart, change);
    if (isOther) {
      chart.style.height = `${height}px`;
      await Plotly.Plots.resize(chart);
    }
    await fitTexts(chart);
  }

  const widths = new ResizeObserver((changes) => {
    for (const { target: chart } of changes)
      if (chart.fitted !== undefined && Math.abs(chart.fitted - chart.clientWidth) > 1) {
        chart.fitted = chart.clientWidth;
        requestAnimationFrame(() => Plotly.Plots.resize(chart).then(() => fit(chart)));
      }
  });

  /* What a chart shows, as a table below it: made when it is first asked for. */
  function addNumbers(chart) {
    const details = chart.nextElementSibling, name = document.getElementById(chart.getAttribute("aria-labelledby")).textContent;
    details.addEventListener("toggle", () => {
      if (!details.open || details.querySelector("figure")) return;
      const figure = tables.make(`In numbers: ${name}`, ...numbersOf(chart));
      details.append(figure);
      tables.begin(figure);
    });
  }

  const plain = (text) => new DOMParser().parseFromString(`${text ?? ""}`, "text/html").body.textContent.trim();

  /* Headings and rows of a chart's points. */
  function numbersOf(chart) {
    const traces = chart._fullData, layout = chart._fullLayout, rows = [];
    const title = (axis, other) => plain(layout[axis]?.title?.text) || other;
    const isMap = traces.some((trace) => trace.type === "heatmap");
    const say = (value) => (typeof value === "number" ? Number(value.toPrecision(6)) : plain(value).replace("T", " ").replace(/ (\d\d:\d\d:\d\d)\.000$/, " $1"));
    for (const trace of traces) {
      const name = plain(trace.name);
      if (isMap) trace.z.forEach((line, row) => line.forEach((value, column) => value && rows.push([say(trace.y[row]), say(trace.x[column]), say(value)])));
      else [...trace.x].forEach((x, place) => trace.y[place] !== null && !Number.isNaN(trace.y[place]) && rows.push([name, say(x), say(trace.y[place])]));
    }
    const isFigure = (place) => rows.every((row) => row[place] !== "" && !Number.isNaN(Number(row[place])));
    const headings = isMap ? ["row", "from", "value"] : ["what", title("xaxis", "x"), title("yaxis", "y")];
    return [headings.map((heading, place) => [heading, isFigure(place)]), rows.slice(0, MOST_NUMBERS)];
  }

  async function draw() {
    const [plotly, ...packed] = await Promise.all(["plotly", "figures", "flames", "selection", "sums"].map(unpacked));
    const [drawn, flameData, selectionData, sums] = packed.map((text) => JSON.parse(text));
    if (charts.length) run(plotly);
    for (const [place, chart] of charts.entries()) {
      const { data, layout } = drawn[place];
      for (const [path, colour] of Object.entries(colours(layout))) set(layout, path.split("."), colour);
      await Plotly.newPlot(chart, data, layout, CONFIG);
      Object.assign(chart, { ownHeight: layout.height, ownTop: layout.margin?.t ?? 0, fitted: chart.clientWidth });
      await fit(chart);
      widths.observe(chart);
      addNumbers(chart);
    }
    const limited = [...flames.draw(flameData), ...selection.begin(selectionData), ...chosenTime.sums(sums)];
    chosenTime.begin(charts.filter((chart) => "linked" in chart.dataset), limited);
    scheme.onChange(() => charts.forEach((chart) => Plotly.relayout(chart, colours(chart.layout))));
    document.documentElement.dataset.drawn = charts.length;
    performance.mark("drawn");
  }

  draw().catch((error) => {
    const trouble = document.getElementById("trouble");
    trouble.textContent = "The charts could not be drawn (they need a browser of 2023 or later): " + error.message;
    trouble.hidden = false;
  });
})();
