"use strict";
/* Every table of the page: rows in the order of a column, rows that have some words, copied and downloaded as they are
 * shown, and row by row where its columns have no room. */
const tables = (() => {
  const SEARCHED_FROM = 9, MOST_STACKED = 60, MOST_STACKED_ON_A_PHONE = 400; /* rows */
  const PHONE = 720; /* pixels */

  function made(kind, values) {
    return Object.assign(document.createElement(kind), values);
  }

  function copied(cell) {
    return cell.dataset.copied ?? cell.textContent;
  }

  /* Headings and rows as they are shown now. */
  function shown(figure) {
    return [...figure.querySelectorAll("tr")].filter((row) => !row.hidden && !row.classList.contains("out-of-time")).map((row) => [...row.cells].map(copied));
  }

  async function copy(figure, button) {
    const text = shown(figure).map((row) => row.join("\t")).join("\n") + "\n";
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = document.body.appendChild(made("textarea", { value: text }));
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  }

  /* A cell of CSV: no text is a formula to a spreadsheet. */
  function inCsv(text) {
    const safe = /^[=+\-@]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
    return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }

  function download(figure) {
    const text = shown(figure).map((row) => row.map(inCsv).join(",") + "\r\n").join("");
    const name = `${document.title} ${figure.querySelector("caption").textContent}`.replace(/[^\w.-]+/g, "-").slice(0, 100);
    const link = made("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: `${name}.csv` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  /* Figures by size, the largest first, all else by the alphabet; then the other way round. What is no number comes last. */
  function sortBy(heading) {
    const body = heading.closest("table").tBodies[0];
    const isFigure = heading.classList.contains("figure");
    const before = heading.getAttribute("aria-sort");
    const isRising = before ? before === "descending" : !isFigure;
    const sign = isRising ? 1 : -1;
    const keyed = [...body.rows].map((row) => {
      const text = copied(row.cells[heading.cellIndex]);
      return { row, text, number: text.trim() === "" ? NaN : Number(text) };
    });
    keyed.sort((one, other) => {
      if (!isFigure) return sign * one.text.localeCompare(other.text, undefined, { numeric: true });
      if (Number.isNaN(one.number) || Number.isNaN(other.number)) return Number.isNaN(one.number) - Number.isNaN(other.number);
      return sign * (one.number - other.number);
    });
    for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", isRising ? "ascending" : "descending");
    body.append(...keyed.map(({ row }) => row));
  }

  /* Rows stay that have all of the words. */
  function filter(table, said, words) {
    const wanted = words.toLowerCase().split(/\s+/);
    let count = 0;
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !wanted.every((word) => text.includes(word));
      count += !row.hidden;
    }
    said.textContent = words.trim() ? `${count} of ${table.tBodies[0].rows.length} rows` : "";
  }

  /* Row by row, if there is no room: each cell then says its heading by itself, and roles tell what it is. */
  function stack(table, isStacked) {
    table.classList.toggle("stacked", isStacked);
    const roles = [[[table], "table"], [table.tBodies, "rowgroup"], [table.rows, "row"], [table.querySelectorAll("td"), "cell"]];
    for (const [elements, role] of roles)
      for (const element of elements) isStacked ? element.setAttribute("role", role) : element.removeAttribute("role");
    if (!isStacked) return;
    const headings = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
    for (const row of table.tBodies[0].rows) for (const cell of row.cells) cell.dataset.heading = headings[cell.cellIndex];
  }

  const room = new ResizeObserver((changes) => {
    for (const { target: box } of changes) {
      const table = box.firstElementChild, isStacked = table.classList.contains("stacked");
      if (isStacked && box.clientWidth >= Number(box.dataset.needs)) stack(table, false);
      else if (!isStacked && box.scrollWidth > box.clientWidth + 1) {
        box.dataset.needs = box.scrollWidth;
        if (table.tBodies[0].rows.length <= (box.clientWidth < PHONE ? MOST_STACKED_ON_A_PHONE : MOST_STACKED)) stack(table, true);
      }
      const isCut = box.scrollWidth > box.clientWidth + 1;
      box.closest("figure").querySelector(".more-columns").hidden = !isCut;
    }
  });

  function begin(figure) {
    const table = figure.querySelector("table"), caption = figure.querySelector("figcaption");
    const name = figure.querySelector("caption").textContent, rows = table.tBodies[0].rows;
    const said = made("span", { role: "status" });
    const more = made("span", { className: "more-columns", textContent: "more columns: scroll sideways", hidden: true });
    caption.append(more, said);
    if (rows.length >= SEARCHED_FROM) {
      const field = made("input", { type: "search", className: "search", placeholder: "Filter", ariaLabel: `Filter rows: ${name}` });
      field.addEventListener("input", () => filter(table, said, field.value));
      caption.append(field);
    }
    const buttons = [["Copy", "copy", (button) => copy(figure, button)], ["CSV", "csv", () => download(figure)]];
    for (const [text, className, act] of buttons) {
      const button = made("button", { type: "button", className, textContent: text, ariaLabel: `${text}: ${name}` });
      button.addEventListener("click", () => act(button));
      caption.append(button);
    }
    if (rows.length > 1)
      for (const heading of table.tHead.querySelectorAll("th")) {
        const button = made("button", { type: "button" });
        button.append(...heading.childNodes);
        heading.append(button);
        heading.addEventListener("click", () => sortBy(heading));
      }
    room.observe(figure.querySelector(".scroll"));
  }

  /* A table made here: headings (text, whether figures) and rows of texts. */
  function make(name, headings, rows) {
    const figure = made("figure", { className: "table" }), table = made("table", {});
    const box = made("div", { className: rows.length > 25 ? "scroll tall" : "scroll", tabIndex: 0, role: "region", ariaLabel: name });
    figure.append(made("figcaption", {}), box);
    figure.firstChild.append(made("span", {}));
    box.append(table);
    table.createCaption().textContent = name;
    table.caption.className = "for-readers";
    const head = table.createTHead().insertRow(), body = table.createTBody();
    for (const [text, isFigure] of headings) head.append(made("th", { scope: "col", textContent: text, className: isFigure ? "figure" : "" }));
    for (const row of rows) {
      const line = body.insertRow();
      row.forEach((value, place) => Object.assign(line.insertCell(), { textContent: value, className: headings[place][1] ? "figure" : "" }));
    }
    return figure;
  }

  for (const figure of document.querySelectorAll("figure.table")) begin(figure);
  return { begin, make, inCsv };
})();
