"use strict";
/* Flame graphs of call sites: drawn by cost and stretch of time, out of the stacks and rows that charts/flame.py gives. */
const flames = (() => {
  const ROW = 19, LEAST_SHARE = 0.0008, LEAST_NAMED_PIXELS = 28;
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

  /* By the difference to what it was in another run: red is more, blue is less, and grey the same. */
  function byDifference(now, before) {
    const part = (now - before) / Math.max(now, before, 1);
    return `hsl(${part > 0 ? 8 : 212} ${Math.round(75 * Math.abs(part))}% var(--flame-light))`;
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
      Object.assign(this, { place, data, cost: 0, first: 0, end: data.columns, path: [], isUpright: false, wanted: "" });
      this.head = place.appendChild(document.createElement("div"));
      this.head.className = "flame-head";
      this.body = place.appendChild(document.createElement("div"));
      this.body.className = "flame-body";
      this.body.addEventListener("keydown", (event) => this.step(event));
      new ResizeObserver(() => this.name()).observe(this.body);
      this.addHead();
      this.draw();
    }

    /* What is chosen by buttons and by the field: the cost, which way up, and what to look for. */
    addHead() {
      const costs = COSTS.map(([name], number) => button(name, number === 0, () => {
        this.cost = number;
        costs.forEach((one, place) => (one.ariaPressed = place === number));
        this.draw();
      }));
      const upright = button("callers below", false, () => {
        this.isUpright = !this.isUpright;
        upright.ariaPressed = this.isUpright;
        this.draw();
      });
      const field = document.createElement("input");
      Object.assign(field, { type: "search", className: "search", placeholder: "Find a function", ariaLabel: "Find a function or file" });
      field.addEventListener("input", () => {
        this.wanted = field.value.trim().toLowerCase();
        this.draw();
      });
      this.said = document.createElement("span");
      this.said.setAttribute("role", "status");
      this.head.append(...costs, upright, field, this.said);
    }

    /* Shows what was seen in a stretch of the clock axis, in its milliseconds; null: all. */
    limit(range) {
      const { first_ms, column_ms, columns, offset_ms } = this.data;
      const column = (ms) => Math.min(columns, Math.max(0, (ms - offset_ms - first_ms) / column_ms));
      [this.first, this.end] = range ? [Math.floor(column(range[0])), Math.ceil(column(range[1]))] : [0, columns];
      this.draw();
    }

    /* The whole run, in milliseconds of the clock axis. */
    extent() {
      return [this.data.first_ms + this.data.offset_ms, this.data.end_ms + this.data.offset_ms];
    }

    choose(node) {
      this.path = [];
      for (let at = node; at.parent; at = at.parent) this.path.unshift(at.frame);
      this.draw();
    }

    /* One box of all can be reached by the tabulator, the others from it by arrows. */
    step(event) {
      const moves = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
      const move = moves[event.key], at = event.target.getBoundingClientRect();
      if (!move) return;
      event.preventDefault();
      const middle = (box) => box.left + box.width / 2;
      const near = [...this.body.children]
        .map((element) => ({ element, box: element.getBoundingClientRect() }))
        .filter(({ box }) => Math.round((box.top - at.top) / ROW) === move[1] && (move[0] === 0 || (middle(box) - middle(at)) * move[0] > 0))
        .sort((a, b) => Math.abs(middle(a.box) - middle(at)) - Math.abs(middle(b.box) - middle(at)))[0]?.element;
      if (!near) return;
      event.target.tabIndex = -1;
      near.tabIndex = 0;
      near.focus();
    }

    isWanted(node) {
      return this.wanted !== "" && node.frame >= 0 && this.data.frames[node.frame].some((text) => text.toLowerCase().includes(this.wanted));
    }

    /* The cost of what is looked for: that of the outermost calls of each stack, so that nothing counts twice. */
    wantedValue(node) {
      return this.isWanted(node) ? node.value : [...node.calls.values()].reduce((sum, call) => sum + this.wantedValue(call), 0);
    }

    draw() {
      const [, place, say] = COSTS[this.cost];
      const root = tree(this.data, place, this.first, this.end), total = root.value;
      const against = this.data.against, former = against ? tree(against, place, 0, 1) : null;
      const share = (value) => `${((100 * value) / (total || 1)).toPrecision(3)} %`;
      let top = root;
      for (const frame of this.path) top = top.calls.get(frame) ?? top;
      const found = this.wanted ? `; found: ${share(this.wantedValue(root))}` : "";
      this.said.textContent = `${total ? say(total) : "nothing"} in all${found}`;
      const boxes = [];
      let rows = 0;
      const add = (node, depth, left, width, before) => {
        rows = Math.max(rows, depth + 1);
        const [name, where] = node.frame < 0 ? ["all", ""] : this.data.frames[node.frame];
        const box = document.createElement("button");
        Object.assign(box, { type: "button", className: this.isWanted(node) ? "flame-box found" : "flame-box", textContent: name, tabIndex: boxes.length ? -1 : 0 });
        const was = against ? `; in ${against.name} ${before?.value ? say(before.value) : "nothing"}` : "";
        box.title = `${name}${where ? "\n" + where : ""}\n${say(node.value)}, ${share(node.value)} of all${was}`;
        const fill = against ? byDifference(node.value, before?.value ?? 0) : colour(where + name);
        Object.assign(box.style, { left: `${100 * left}%`, width: `${100 * width}%`, background: node.frame < 0 ? "var(--tint)" : fill });
        Object.assign(box.dataset, { name, share: node.value / (total || 1), depth });
        box.addEventListener("click", () => this.choose(node));
        box.share = width;
        boxes.push(box);
        let at = left;
        for (const call of [...node.calls.values()].sort((a, b) => b.value - a.value)) {
          const part = width * (call.value / node.value);
          if (part >= LEAST_SHARE) add(call, depth + 1, at, part, before?.calls.get(call.frame));
          at += part;
        }
      };
      /* Its callers are in full width, and lead back. */
      const callers = [];
      for (let at = top.parent; at; at = at.parent) callers.unshift(at);
      let before = former;
      for (const [depth, node] of [...callers, top].entries()) {
        if (depth) before = before?.calls.get(node.frame);
        add(node === top ? top : { ...node, calls: new Map() }, depth, 0, 1, before);
      }
      for (const box of boxes) box.style.top = `${(this.isUpright ? rows - 1 - box.dataset.depth : box.dataset.depth) * ROW}px`;
      this.body.replaceChildren(...boxes);
      this.body.style.height = `${rows * ROW}px`;
      this.name();
    }

    /* A box with no room for a few letters shows none: the first letter of a name says nothing. */
    name() {
      const width = this.body.clientWidth;
      for (const box of this.body.children) box.classList.toggle("tiny", box.share * width < LEAST_NAMED_PIXELS);
    }
  }

  return { draw: (data) => [...document.querySelectorAll(".flame")].map((place, number) => new Flame(place, data[number])) };
})();
