"use strict";
/* Flame graphs of call sites: drawn by cost and stretch of time, out of the stacks and rows that charts/flame.py gives. */
const flames = (() => {
  const ROW = 19, LEAST_SHARE = 0.0008;
  const COSTS = [["time", 2, (us) => inUnits(us / 1e6, [[1, "s"], [1e-3, "ms"], [1e-6, "us"]])], ["bytes", 3, (bytes) => inBytes(bytes)], ["calls", 4, (calls) => Math.round(calls).toLocaleString("en") + " calls"]];

  function inUnits(value, units) {
    const [scale, unit] = units.find(([scale]) => value >= scale) ?? units.at(-1);
    return `${Number((value / scale).toPrecision(3)).toLocaleString("en")} ${unit}`;
  }

  function inBytes(bytes) {
    return inUnits(bytes, [50, 40, 30, 20, 10, 0].map((power, place) => [2 ** power, ["PiB", "TiB", "GiB", "MiB", "KiB", "B"][place]]));
  }

  /* What each stack costs in the columns from `first` to before `end`, as a tree of calls. */
  function tree(flame, cost, first, end) {
    const root = { frame: -1, value: 0, calls: new Map(), parent: null };
    for (const row of flame.rows) {
      if (row[1] < first || row[1] >= end || !row[cost]) continue;
      let node = root;
      node.value += row[cost];
      for (const frame of flame.stacks[row[0]]) {
        let next = node.calls.get(frame);
        if (!next) node.calls.set(frame, (next = { frame, value: 0, calls: new Map(), parent: node }));
        next.value += row[cost];
        node = next;
      }
    }
    return root;
  }

  function colour(name) {
    let hash = 7;
    for (const letter of name) hash = (hash * 31 + letter.codePointAt(0)) >>> 0;
    return `hsl(${18 + (hash % 38)} ${58 + (hash >> 6) % 20}% var(--flame-light))`;
  }

  function button(text, isChosen, choose) {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.ariaPressed = isChosen;
    made.addEventListener("click", choose);
    return made;
  }

  class Flame {
    constructor(place, data) {
      Object.assign(this, { place, data, cost: 0, first: 0, end: data.columns, path: [] });
      this.head = place.appendChild(document.createElement("div"));
      this.head.className = "flame-head";
      this.body = place.appendChild(document.createElement("div"));
      this.body.className = "flame-body";
      this.draw();
    }

    /* Shows what was seen in a stretch of the clock axis, in its milliseconds; null: all. */
    limit(range) {
      const { first_ms, column_ms, columns, offset_ms } = this.data;
      const column = (ms) => Math.min(columns, Math.max(0, (ms - offset_ms - first_ms) / column_ms));
      [this.first, this.end] = range ? [Math.floor(column(range[0])), Math.ceil(column(range[1]))] : [0, columns];
      this.draw();
    }

    clock(column) {
      const { first_ms, column_ms, offset_ms, end_ms } = this.data;
      return new Date(Math.min(first_ms + column * column_ms, end_ms) + offset_ms).toISOString().slice(11, 19);
    }

    choose(node) {
      this.path = [];
      for (let at = node; at.parent; at = at.parent) this.path.unshift(at.frame);
      this.draw();
    }

    slider(name, value, set) {
      const label = document.createElement("label");
      const input = document.createElement("input");
      Object.assign(input, { type: "range", min: 0, max: this.data.columns, value });
      input.addEventListener("change", () => { set(Number(input.value)); this.draw(); });
      label.append(`${name} ${this.clock(value)} `, input);
      return label;
    }

    draw() {
      const [, place, say] = COSTS[this.cost];
      let top = tree(this.data, place, this.first, this.end);
      const total = top.value;
      for (const frame of this.path) top = top.calls.get(frame) ?? top;
      this.head.replaceChildren(
        ...COSTS.map(([name], number) => button(name, number === this.cost, () => { this.cost = number; this.draw(); })),
        this.slider("from", this.first, (at) => { this.first = Math.min(at, this.data.columns - 1); this.end = Math.max(this.end, this.first + 1); }),
        this.slider("to", this.end, (at) => { this.end = Math.max(at, 1); this.first = Math.min(this.first, this.end - 1); }),
        Object.assign(document.createElement("span"), { textContent: `${total ? say(total) : "nothing"} in all` }),
      );
      const boxes = [];
      let rows = 0;
      const add = (node, depth, left, width) => {
        rows = Math.max(rows, depth + 1);
        const [name, where] = node.frame < 0 ? ["all", ""] : this.data.frames[node.frame];
        const box = document.createElement("button");
        box.type = "button";
        box.className = "flame-box";
        box.textContent = name;
        box.title = `${name}${where ? "\n" + where : ""}\n${say(node.value)}, ${((100 * node.value) / (total || 1)).toPrecision(3)} % of all`;
        Object.assign(box.style, { left: `${100 * left}%`, width: `${100 * width}%`, top: `${depth * ROW}px`, background: node.frame < 0 ? "var(--tint)" : colour(where + name) });
        box.dataset.name = name;
        box.dataset.share = node.value / (total || 1);
        box.addEventListener("click", () => this.choose(node));
        boxes.push(box);
        let at = left;
        for (const call of [...node.calls.values()].sort((a, b) => b.value - a.value)) {
          const part = width * (call.value / node.value);
          if (part >= LEAST_SHARE) add(call, depth + 1, at, part);
          at += part;
        }
      };
      /* Those who called it lie above it, in full width, and lead back. */
      const callers = [];
      for (let at = top.parent; at; at = at.parent) callers.unshift(at);
      callers.forEach((node, depth) => add({ ...node, calls: new Map() }, depth, 0, 1));
      add(top, callers.length, 0, 1);
      this.body.replaceChildren(...boxes);
      this.body.style.height = `${rows * ROW}px`;
    }
  }

  return { draw: (data) => [...document.querySelectorAll(".flame")].map((place, number) => new Flame(place, data[number])) };
})();
