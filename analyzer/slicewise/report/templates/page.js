"use strict";
(() => {
  const CONFIG = { displayModeBar: "hover", doubleClick: "reset", displaylogo: false, responsive: true, modeBarButtons: [["toImage", "resetScale2d"]] };
  const SEARCHED_FROM = 12; /* rows */
  const darkScheme = window.matchMedia("(prefers-color-scheme: dark)");
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

  /* A time of the clock axis in its milliseconds: its days have no time zone. */
  function axisTime(text) {
    return Date.parse(`${text}`.replace(" ", "T") + (/\d\d:\d\d/.test(text) ? "Z" : ""));
  }

  /* A range chosen in one linked chart is chosen in all, and in whatever else can be limited to a time; the echo of our own relayout is not passed on again. */
  function link(linked, limited) {
    let isPassingOn = false;
    for (const chart of linked)
      chart.on("plotly_relayout", async (change) => {
        if (isPassingOn) return;
        let chosen;
        if (change["xaxis.autorange"]) chosen = { "xaxis.autorange": true };
        else if (change["xaxis.range"]) chosen = { "xaxis.range": change["xaxis.range"] };
        else if ("xaxis.range[0]" in change) chosen = { "xaxis.range": [change["xaxis.range[0]"], change["xaxis.range[1]"]] };
        else return;
        isPassingOn = true;
        await Promise.all(linked.filter((other) => other !== chart).map((other) => Plotly.relayout(other, { ...chosen })));
        isPassingOn = false;
        const range = chosen["xaxis.range"];
        for (const each of limited) each.limit(range ? range.map(axisTime) : null);
      });
  }

  async function draw() {
    const [plotly, figures, flameData, selectionData] = await Promise.all(["plotly", "figures", "flames", "selection"].map(unpacked));
    run(plotly);
    const drawn = JSON.parse(figures);
    for (const [place, chart] of charts.entries()) {
      const { data, layout } = drawn[place];
      for (const [path, colour] of Object.entries(colours(layout))) set(layout, path.split("."), colour);
      await Plotly.newPlot(chart, data, layout, CONFIG);
    }
    const limited = [...flames.draw(JSON.parse(flameData)), ...selection.begin(JSON.parse(selectionData))];
    link(charts.filter((chart) => "linked" in chart.dataset), limited);
    darkScheme.addEventListener("change", () => charts.forEach((chart) => Plotly.relayout(chart, colours(chart.layout))));
    document.documentElement.dataset.drawn = charts.length;
    performance.mark("drawn");
  }

  async function copy(button) {
    const rows = [...button.closest("figure").querySelectorAll("tr")].filter((row) => !row.hidden);
    const text = rows.map((row) => [...row.cells].map((cell) => cell.dataset.copied).join("\t")).join("\n") + "\n";
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.body.appendChild(document.createElement("textarea"));
      area.value = text;
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy as TSV"), 1500);
  }

  /* Rows in the order of a column: figures by size, the largest first, all else by the alphabet; then the other way round. What is no number comes last. */
  function sortBy(heading) {
    const body = heading.closest("table").tBodies[0];
    const isFigure = heading.classList.contains("figure");
    const before = heading.getAttribute("aria-sort");
    const isRising = before ? before === "descending" : !isFigure;
    const sign = isRising ? 1 : -1;
    const keyed = [...body.rows].map((row) => {
      const text = row.cells[heading.cellIndex].dataset.copied;
      const number = text.trim() === "" ? NaN : Number(text);
      return { row, text, number };
    });
    keyed.sort((one, other) => {
      if (!isFigure) return sign * one.text.localeCompare(other.text);
      if (Number.isNaN(one.number) || Number.isNaN(other.number)) return Number.isNaN(one.number) - Number.isNaN(other.number);
      return sign * (one.number - other.number);
    });
    for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", isRising ? "ascending" : "descending");
    body.append(...keyed.map(({ row }) => row));
  }

  /* Long tables can be searched: rows stay that have all of the words. */
  function addSearch(table) {
    const field = document.createElement("input");
    field.type = "search";
    field.className = "search";
    field.placeholder = "Search";
    field.setAttribute("aria-label", "Search in this table");
    field.addEventListener("input", () => {
      const wanted = field.value.toLowerCase().split(/\s+/);
      for (const row of table.tBodies[0].rows) {
        const said = row.textContent.toLowerCase();
        row.hidden = !wanted.every((word) => said.includes(word));
      }
    });
    table.closest("figure").querySelector(".copy").before(field);
  }

  for (const table of document.querySelectorAll("figure.table table")) {
    if (table.tBodies[0].rows.length > 1)
      for (const heading of table.tHead.rows[0].cells) {
        heading.tabIndex = 0;
        heading.classList.add("sorts");
        heading.addEventListener("click", () => sortBy(heading));
        heading.addEventListener("keydown", (event) => {
          if (event.key === "Enter") sortBy(heading);
        });
      }
    if (table.tBodies[0].rows.length > SEARCHED_FROM) addSearch(table);
  }
  for (const button of document.querySelectorAll(".copy")) button.addEventListener("click", () => copy(button));
  draw().catch((error) => {
    const trouble = document.getElementById("trouble");
    trouble.textContent = "The charts could not be drawn (they need a browser of 2023 or later): " + error.message;
    trouble.hidden = false;
  });
})();
