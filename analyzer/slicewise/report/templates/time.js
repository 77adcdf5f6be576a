"use strict";
/* The time that the reader chooses: one for all charts, flame graphs, tiles and tables. */
const amounts = (() => {
  const BYTES = ["PiB", "TiB", "GiB", "MiB", "KiB", "B"].map((unit, place) => [2 ** (50 - 10 * place), unit]);
  const SECONDS = [[3600, "h"], [60, "min"], [1, "s"], [1e-3, "ms"], [1e-6, "us"]];

  /* To three digits, as everywhere on the page. */
  function number(value) {
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 99.95) return Math.round(value).toLocaleString("en");
    return size < 0.001 ? "0" : value.toPrecision(3).replace("-", "\u2212");
  }

  function inUnits(value, units) {
    if (value === 0) return `0 ${units.at(-1)[1] === "B" ? "B" : "s"}`;
    const [scale, unit] = units.find(([scale]) => Math.abs(value) >= scale) ?? units.at(-1);
    return `${number(value / scale)} ${unit}`;
  }

  const say = {
    size: (sum) => inUnits(sum, BYTES),
    count: (sum) => Math.round(sum).toLocaleString("en"),
    duration: (sum) => inUnits(sum, sum >= 200 ? SECONDS : SECONDS.slice(2)),
    seconds: (sum) => `${number(sum)} s`,
    rate: (sum, seconds) => `${number(sum / seconds / 2 ** 20)} MiB/s`,
  };
  return { number, say };
})();

const chosenTime = (() => {
  const form = document.getElementById("time"), { from, to, whole } = form.elements, said = document.getElementById("time-said");
  const choosing = document.getElementById("choosing");
  const spoken = (ms) => new Date(ms).toISOString().slice(0, 19).replace("T", " ");

  /* Tiles and cells that are sums over slices. A slice is in a time if its middle is. */
  function sums(data) {
    if (data === null) return rows();
    const places = [...document.querySelectorAll("[data-sum]")].map((element) => ({ element, text: element.textContent, copied: element.dataset.copied, figure: data.figures[element.dataset.sum] }));
    const slice = (ms) => Math.min(data.slices, Math.max(0, Math.ceil((ms - data.first_ms) / data.slice_ms - 0.5)));
    function limit(range) {
      const [first, end] = range ? range.map(slice) : [0, data.slices];
      const isWhole = first === 0 && end === data.slices;
      for (const { element, text, copied, figure } of places) {
        const found = figure.values.map((values) => values.slice(first, end).reduce((sum, value) => sum + value, 0));
        const seconds = ((end - first) * data.slice_ms) / 1000;
        element.textContent = isWhole ? text : found.map((sum) => (seconds ? amounts.say[figure.kind](sum, seconds) : "-")).join(", ");
        if (copied !== undefined) element.dataset.copied = isWhole ? copied : figure.kind === "rate" ? found[0] / seconds / 2 ** 20 : found[0];
      }
    }
    return [{ limit }, ...rows()];
  }

  /* Rows that are about a time of their own: those that reach into the chosen one are shown. */
  function rows() {
    const all = [...document.querySelectorAll("tr[data-from]")].map((row) => [row, Number(row.dataset.from), Number(row.dataset.to)]);
    const isOut = (range, first, end) => range !== null && (end < range[0] || first > range[1] || (first < end && (end === range[0] || first === range[1])));
    return [{ limit: (range) => all.forEach(([row, first, end]) => row.classList.toggle("out-of-time", isOut(range, first, end))) }];
  }

  /* Marks headings of figures that always tell of the whole run: of columns, of whole tables, of charts on no clock. */
  function markWholes() {
    for (const figure of document.querySelectorAll("figure.table")) {
      const isTold = figure.querySelector("td[data-sum]") !== null, hasTimes = figure.querySelector("tr[data-from]") !== null;
      if (!isTold) figure.querySelector("figcaption > span").classList.add(hasTimes ? "of-rows" : "of-whole");
      else for (const heading of figure.querySelectorAll("th.figure"))
        heading.classList.toggle("of-whole", !figure.querySelector(`td:nth-child(${heading.cellIndex + 1})[data-sum]`));
    }
    for (const chart of document.querySelectorAll(".chart:not([data-linked]):not([data-told])")) chart.closest("section").querySelector("h2").classList.add("of-whole");
  }

  /* charts: linked ones, drawn; limited: what else can be limited to a time, with limit(range or null) and perhaps extent(). */
  function begin(charts, limited) {
    const extents = [
      ...charts.map((chart) => chart.layout.xaxis.range.map(axisTime)),
      ...limited.flatMap((each) => (each.extent ? [each.extent()] : [])),
    ].filter(([first, end]) => end > first);
    if (extents.length === 0) return;
    const all = [Math.min(...extents.map(([first]) => first)), Math.max(...extents.map(([, end]) => end))];
    const wholes = charts.map((chart) => [...chart.layout.xaxis.range]);
    let isPassingOn = false;

    /* Shows a time everywhere; null: the whole run. */
    async function choose(range) {
      const isWhole = range === null || (range[0] <= all[0] && range[1] >= all[1]);
      [from.value, to.value] = (isWhole ? all : range).map(spoken);
      whole.disabled = isWhole;
      document.documentElement.toggleAttribute("data-chosen", !isWhole);
      said.textContent = isWhole ? (charts.length ? "Drag in a chart, or type, to choose a time." : "Type a time to choose it.") : `Chosen: ${amounts.say.duration((range[1] - range[0]) / 1000)} of ${amounts.say.duration((all[1] - all[0]) / 1000)}.`;
      for (const each of limited) each.limit(isWhole ? null : range);
      const shown = isWhole ? null : range.map((ms) => new Date(ms).toISOString().replace("T", " ").replace(/(\.000)?Z/, ""));
      isPassingOn = true;
      await Promise.all(charts.map((chart, place) => {
        const wanted = shown ?? wholes[place], { autorange, range: now } = chart.layout.xaxis;
        return (autorange || `${now}` !== `${wanted}`) && Plotly.relayout(chart, { "xaxis.range": [...wanted] });
      }));
      isPassingOn = false;
    }

    for (const chart of charts)
      chart.on("plotly_relayout", (change) => {
        if (isPassingOn) return;
        if (change["xaxis.autorange"]) choose(null);
        else if (change["xaxis.range"]) choose(change["xaxis.range"].map(axisTime));
        else if ("xaxis.range[0]" in change) choose([change["xaxis.range[0]"], change["xaxis.range[1]"]].map(axisTime));
      });
    for (const field of [from, to]) {
      field.addEventListener("change", () => {
        const range = [from, to].map(({ value }) => axisTime(/^\d\d?:/.test(value.trim()) ? `${spoken(all[0]).slice(0, 11)}${value.trim().padStart(8, "0")}` : value.trim()));
        if (range[1] > range[0]) choose(range);
        else said.textContent = "Not a time, or not before the other: 10:31:04 or 2026-11-23 10:31:04.";
      });
    }
    whole.addEventListener("click", () => choose(null));
    form.addEventListener("submit", (event) => event.preventDefault());
    markWholes();
    form.hidden = choosing.hidden = false;
    choosing.addEventListener("click", () => {
      choosing.ariaExpanded = document.documentElement.toggleAttribute("data-choosing");
    });
    choose(null);
  }

  /* A time of the clock axis in its milliseconds: its days have no time zone. */
  function axisTime(text) {
    return Date.parse(`${text}`.replace(" ", "T") + (/\d\d:\d\d/.test(text) ? "Z" : ""));
  }
  return { begin, sums };
})();
