"use strict";
/* The figures of a chosen time, on the page of a blame: added up from the seconds of each slice. */
const selection = (() => {
  const number = (value) => amounts.number(value);

  function clock(milliseconds) {
    return new Date(milliseconds).toISOString().slice(11, 19);
  }

  function sum(values, places) {
    return places.reduce((total, place) => total + values[place], 0);
  }

  /* The figures of the slices at these places. calls, alone: of the mean process; lost: of the job's runtime, to each of data.lost, the last of which is nobody; parts: of the bar. */
  function figures(data, places) {
    const calls = sum(data.in_calls, places), alone = sum(data.alone, places), seconds = (places.length * data.slice_ms) / 1000;
    const lost = data.lost.map((part) => data.factor * sum(part.seconds, places));
    lost[lost.length - 1] += data.apart * (data.all_calls > 0 ? calls / data.all_calls : 0);
    const whole = lost.reduce((total, part) => total + part, 0);
    const slowest = Math.min(seconds, data.slowest * calls), computing = seconds - slowest;
    /* What it waited for its turn lies outside its calls. */
    const turn = data.turn === null ? 0 : sum(data.turn, places), idle = Math.max(0, computing - turn);
    /* Its own I/O, without and with what its processes cost each other; then its wait for its turn, and what it lost outside of I/O, of which no slice
     * is known: that is in the rest. */
    const own = (all) => {
      const waiting = data.each_other === null ? 0 : Math.min(all, sum(data.each_other, places));
      return [all - waiting, ...(data.each_other === null ? [] : [waiting]), ...(data.turn === null ? [] : [turn]), ...(data.has_outside ? [0] : [])];
    };
    if (!data.has_parts) return { calls, alone, seconds, lost, turn, whole: whole + turn, parts: [idle, ...own(slowest)] };
    const shown = lost.map((part) => Math.max(0, part)), total = shown.reduce((all, part) => all + part, 0);
    const scale = total > 0 ? Math.min(Math.max(0, whole), slowest) / total : 0;
    return { calls, alone, seconds, lost, turn, whole: whole + turn, parts: [idle, ...own(slowest - scale * total), ...shown.map((part) => scale * part)] };
  }

  /* The sentence on a chosen time. */
  function sentence(data, places, { calls, alone, lost, turn, whole }) {
    const from = clock(data.begin_ms[places[0]]), to = clock(data.begin_ms[places.at(-1)] + data.slice_ms);
    const parts = data.lost.map(({ name }, place) => ({ name, seconds: lost[place] })).filter(({ seconds }) => Math.abs(seconds) >= 0.005 * calls);
    const told = turn > 0 ? [`${number(turn)} s waiting for its turn`] : [];
    told.push(...parts.map(({ name, seconds }) => (name === "unexplained" ? `${number(seconds)} s unexplained` : `${number(seconds)} s to ${name}`)));
    const whose = data.processes > 1 ? ` (mean of ${data.processes} processes)` : "";
    return `From ${from} to ${to}: I/O took ${number(calls)} s${whose} and ${number(alone)} s alone. The job lost ${number(whole)} s of its runtime${told.length ? ": " + told.join(", ") : ""}. Double-click in a chart to see the whole run again.`;
  }

  /* Gives what can be limited to a time, as a range in milliseconds of the charts' axis; null is the whole run. */
  function begin(data) {
    if (data === null) return [];
    const note = document.getElementById("chosen"), bar = document.getElementById("bar");
    const tiles = [...document.querySelectorAll(".facts div[id]")].map((tile) => ({ id: tile.id, name: tile.querySelector("dt"), said: tile.querySelector("dd") }));
    for (const { id } of tiles) document.getElementById(id).classList.add("of-time");
    bar.dataset.told = "";
    let isChosen = false;
    const names = new Map(tiles.map(({ id, name }) => [id, [...name.childNodes]]));
    const whole = { note: note.textContent, bar: bar.data.map((trace) => trace.x), tiles: Object.fromEntries(tiles.map(({ id, name, said }) => [id, [name.textContent, said.textContent]])) };

    function show(text, parts, told) {
      note.textContent = text;
      for (const { id, name, said } of tiles) {
        if (told === whole.tiles) name.replaceChildren(...names.get(id));
        else name.textContent = (told[id] ?? whole.tiles[id])[0];
        said.textContent = (told[id] ?? whole.tiles[id])[1];
      }
      Plotly.restyle(bar, { x: parts });
    }

    /* The tiles of a chosen time: what each is called, and its figure. */
    function said({ calls, alone, seconds, lost, turn }) {
      const slowdown = alone > 0 ? `I/O took ${(calls / alone).toPrecision(2)} times as long as alone` : "no I/O";
      const tiles = { slowdown: ["in the chosen time", slowdown], runtime: ["the chosen time", `${number(seconds)} s`], alone: ["I/O alone", `${number(alone)} s`], unexplained: ["unexplained", `${number(lost.at(-1))} s`], turn: ["waiting for its turn", `${number(turn)} s`] };
      lost.slice(0, -1).forEach((value, place) => (tiles[`lost-${place}`] = [whole.tiles[`lost-${place}`]?.[0], `${number(value)} s`]));
      return tiles;
    }

    function limit(range) {
      const middle = data.slice_ms / 2;
      const places = [...data.begin_ms.keys()].filter((place) => range === null || (data.begin_ms[place] + middle >= range[0] && data.begin_ms[place] + middle < range[1]));
      if (range === null || places.length === 0 || places.length === data.begin_ms.length) {
        if (isChosen) show(whole.note, whole.bar, whole.tiles);
        isChosen = false;
        return;
      }
      isChosen = true;
      const found = figures(data, places);
      show(sentence(data, places, found), found.parts.map((part) => [part]), said(found));
    }
    return [{ limit }];
  }
  return { begin, figures };
})();
