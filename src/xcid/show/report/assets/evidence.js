"use strict";
/*
 * xcid.drawEvidence(container, pair, options): the two distributions behind one score.
 *
 * pair     what xcid.report.evidence.picture gives: kind "number", "levels" or "shares"
 * options  {name, cell, top, hidden, phrases}; `top` is the largest whole number of a curve
 */
(function (xcid) {
  const { element, svg, percent, plain, place, ticks, legend } = xcid;
  const HEIGHT = 270, ABOVE = 26, BELOW = 28, SIDE = 12, MASSES = 48, MISSING = 58, NEAR = 9;

  function drawEvidence(container, pair, options) {
    const draw = { number: drawNumber, levels: drawLevels, shares: drawShares }[pair.kind];
    draw(container, pair, options);
    const { flips, stays, both } = options.phrases;
    container.firstElementChild.after(element("p", { class: "why" }, pair.why));
    container.append(legend(["mass p", flips], ["mass q", stays], ["overlap", both]));
  }

  /* Curves over a line, stems for values that are taken again and again, missing cells to the right of all. */
  function drawNumber(container, pair, options) {
    const frame = framed(container, pair);
    const chart = svg("svg", { class: "chart", height: HEIGHT, viewBox: `0 0 ${frame.width} ${HEIGHT}`, tabindex: 0, role: "slider" });
    const readout = element("p", { class: "readout quiet" }, HINT);
    drawAxis(chart, pair, options, frame);
    drawCurves(chart, pair, options, frame);
    drawOwn(chart, pair, options, frame);
    drawStems(chart, pair, frame);
    const cross = svg("line", { class: "cross", y1: ABOVE, y2: frame.floor, visibility: "hidden" });
    chart.append(cross);
    makeReadable(chart, cross, readout, stops(pair, options, frame), options);
    container.replaceChildren(chart, readout);
    if (frame.hasMasses) container.append(element("p", { class: "caption" }, options.phrases.at_one_value));
    if (pair.dropped) container.append(element("p", { class: "caption" }, `${pair.dropped} values with smaller shares are not drawn.`));
  }
  const HINT = "Point at the picture, or use the arrow keys, to read it.";

  function framed(container, pair) {
    const width = Math.max(240, Math.floor(container.clientWidth) || 480);
    const hasMasses = pair.atoms.length > 0 || Boolean(pair.missing);
    const right = width - SIDE - (hasMasses ? MASSES : 0) - (pair.missing ? MISSING : 0);
    const [low, high] = pair.range;
    const x = (value) => SIDE + ((value - low) / (high - low)) * (right - SIDE);
    const floor = HEIGHT - BELOW;
    const y = (share) => floor - share * (floor - ABOVE);
    return { width, hasMasses, right, low, high, x, y, floor, beyond: right + MISSING / 2 };
  }

  function drawAxis(chart, pair, options, frame) {
    const { width, right, floor, low, high, x, y } = frame;
    chart.append(svg("line", { class: "axis", x1: SIDE, x2: right, y1: floor, y2: floor }));
    const count = Math.max(3, Math.floor((right - SIDE) / (pair.unit ? 110 : 75)));
    for (const tick of options.hidden ? [] : pair.scale ? powers(pair, low, high) : ticks(low, high, count)) {
      chart.append(svg("line", { class: "axis", x1: x(tick), x2: x(tick), y1: floor, y2: floor + 4 }));
      chart.append(svg("text", { x: x(tick), y: floor + 18, "text-anchor": "middle" }, place(valueAt(pair, tick), pair.unit)));
    }
    if (options.hidden) chart.append(svg("text", { x: (SIDE + right) / 2, y: floor + 18, "text-anchor": "middle" }, "values are hidden"));
    if (pair.missing) chart.append(svg("text", { x: frame.beyond, y: floor + 18, "text-anchor": "middle" }, "missing"));
    if (!frame.hasMasses) return;
    for (const mass of [0, 0.5, 1]) {
      chart.append(svg("line", { class: "axis", x1: width - MASSES, x2: width - MASSES + 4, y1: y(mass), y2: y(mass) }));
      chart.append(svg("text", { x: width - MASSES + 7, y: y(mass) + 4 }, `${100 * mass}%`));
    }
  }

  /* The value at a place of the axis, which may be closer towards far ends. */
  function valueAt(pair, at) {
    return pair.scale ? Math.sinh(at) * pair.scale : at;
  }

  /* Places of 0 and of powers of ten that are larger than the scale. */
  function powers(pair, low, high) {
    const first = Math.floor(Math.log10(pair.scale)) + 1;
    const found = Array.from({ length: 12 }, (_, at) => Math.asinh(10 ** (first + at) / pair.scale));
    return [...found.map((at) => -at), 0, ...found].filter((at) => at >= low && at <= high).sort((one, other) => one - other);
  }

  function drawCurves(chart, pair, options, frame) {
    if (!pair.p.length) return;
    const both = pair.p.map((p, at) => Math.min(p, pair.q[at]));
    const line = (curve) => curve.map((height, at) => `${middle(pair, frame, at).toFixed(1)},${frame.y(height / options.top).toFixed(1)}`).join("L");
    const area = (curve) => `M${middle(pair, frame, 0).toFixed(1)},${frame.floor}L${line(curve)}L${middle(pair, frame, curve.length - 1).toFixed(1)},${frame.floor}Z`;
    chart.append(
      svg("path", { class: "under p", d: area(pair.p) }), svg("path", { class: "under q", d: area(pair.q) }),
      svg("path", { class: "overlap", d: area(both) }),
      svg("path", { class: "curve q", d: `M${line(pair.q)}` }), svg("path", { class: "curve p", d: `M${line(pair.p)}` }),
    );
  }

  function middle(pair, frame, at) {
    return frame.x(frame.low + ((at + 0.5) / pair.p.length) * (frame.high - frame.low));
  }

  function drawOwn(chart, pair, options, frame) {
    if (pair.own === null && !pair.missing) return;
    const at = pair.own === null ? frame.beyond : frame.x(pair.own);
    const anchor = at < frame.width * 0.25 ? "start" : at > frame.width * 0.75 ? "end" : "middle";
    const text = options.hidden ? "this row" : `this row: ${short(options.cell)}`;
    const label = { x: anchor === "end" && frame.hasMasses ? Math.min(at, frame.width - 58) : at, y: 14, "text-anchor": anchor };
    chart.append(svg("line", { class: "own", x1: at, x2: at, y1: 19, y2: frame.floor }));
    chart.append(svg("text", { class: "own-label", ...label }, text));
  }

  function short(text) {
    const letters = Array.from(text);
    return letters.length > 24 ? letters.slice(0, 23).join("") + "…" : text;
  }

  /* Shares at one value, at that value: thin lines of C+ before thick ones of C−. */
  function drawStems(chart, pair, frame) {
    const stems = pair.atoms.map(([at, p, q]) => [frame.x(at), p, q]);
    if (pair.missing) stems.push([frame.beyond, ...pair.missing]);
    for (const [x, p, q] of stems) {
      for (const [kind, mass, width] of [["q", q, 9], ["p", p, 4]]) {
        if (!mass) continue;
        chart.append(svg("line", { class: `stem ${kind}`, x1: x, x2: x, y1: frame.floor, y2: frame.y(mass / 1000), "stroke-width": width }));
        chart.append(svg("circle", { class: `dot ${kind}`, cx: x, cy: frame.y(mass / 1000), r: 3 + width / 4 }));
      }
    }
  }

  /* Every place that can be read, from left to right: {x, text}. */
  function stops(pair, options, frame) {
    const value = (at) => (options.hidden ? "here" : `at ${place(valueAt(pair, at), pair.unit)}`);
    const found = pair.p.map((p, at) => {
      const here = frame.low + ((at + 0.5) / pair.p.length) * (frame.high - frame.low);
      return { x: frame.x(here), text: `${value(here)}: ${densities(p, pair.q[at], pair, options)}` };
    });
    for (const [at, p, q] of pair.atoms) found.push({ x: frame.x(at), text: `exactly ${value(at)}: ${masses(p, q)}`, isStem: true });
    found.sort((one, other) => one.x - other.x);
    if (pair.missing) found.push({ x: frame.beyond, text: `missing: ${masses(...pair.missing)}`, isStem: true });
    return found;
  }

  function densities(p, q, pair, options) {
    if (options.hidden || pair.scale) return `C+ ${percent0(p / options.top)}, C− ${percent0(q / options.top)} of the peak`;
    const scale = pair.peak / options.top;
    return `density of C+ ${plain(p * scale)}, of C− ${plain(q * scale)}`;
  }

  function masses(p, q) {
    return `${percent0(p / 1000, 1)} of C+, ${percent0(q / 1000, 1)} of C−`;
  }

  function percent0(share, decimals) {
    return `${(100 * share).toFixed(decimals || 0)}%`;
  }

  function makeReadable(chart, cross, readout, places, options) {
    let current = -1;
    const set = (attributes) => Object.entries(attributes).forEach(([name, value]) => chart.setAttribute(name, value));
    const read = (at) => {
      if (!places.length) return;
      current = Math.max(0, Math.min(places.length - 1, at));
      const { x, text } = places[current];
      cross.setAttribute("x1", x);
      cross.setAttribute("x2", x);
      cross.setAttribute("visibility", "visible");
      readout.textContent = text[0].toUpperCase() + text.slice(1);
      readout.className = "readout";
      set({ "aria-valuenow": current, "aria-valuetext": text });
    };
    set({ "aria-label": `Evidence of ${options.name}`, "aria-valuemin": 0, "aria-valuemax": Math.max(0, places.length - 1), "aria-valuenow": 0, "aria-valuetext": HINT });
    chart.addEventListener("pointermove", (event) => {
      const box = chart.getBoundingClientRect();
      const at = ((event.clientX - box.left) / box.width) * chart.viewBox.baseVal.width;
      read(nearest(places, at));
    });
    chart.addEventListener("keydown", (event) => {
      const step = event.shiftKey ? 8 : 1;
      const moves = { ArrowRight: current + step, ArrowUp: current + step, ArrowLeft: current - step, ArrowDown: current - step, Home: 0, End: places.length - 1 };
      if (!Object.hasOwn(moves, event.key)) return;
      event.preventDefault();
      read(moves[event.key]);
    });
  }

  /* A stem that is near is meant before the curve behind it. */
  function nearest(places, x) {
    let best = -1, least = Infinity;
    places.forEach((one, at) => {
      const gap = Math.abs(one.x - x) - (one.isStem && Math.abs(one.x - x) < NEAR ? 1000 : 0);
      if (gap < least) [best, least] = [at, gap];
    });
    return best;
  }

  function drawLevels(container, pair) {
    const most = Math.max(...pair.p, ...pair.q, 1);
    const rows = pair.names.map((name, at) => level(name, pair.p[at], pair.q[at], most, at === pair.own));
    container.replaceChildren(element("div", { role: "list" }, ...rows));
  }

  /* The evidence of a group of columns lies over the share of flips among similar perturbations. */
  function drawShares(container, pair) {
    const most = Math.max(...pair.p, ...pair.q, 1);
    const rows = pair.p.map((p, at) => level(`${10 * at} to ${10 * at + 10}%`, p, pair.q[at], most, false));
    const caption = element("p", { class: "caption" }, "A group of columns: share of flips among similar perturbations.");
    container.replaceChildren(element("div", { role: "list" }, ...rows), caption);
  }

  function level(name, p, q, most, isOwn) {
    const drawn = svg("svg", { "aria-hidden": "true" });
    const both = percent(Math.min(p, q) / most);
    drawn.append(
      svg("rect", { class: "mass p", width: percent(p / most), y: "8%", height: "38%", rx: 2 }),
      svg("rect", { class: "mass q", width: percent(q / most), y: "54%", height: "38%", rx: 2 }),
      svg("rect", { class: "overlap", width: both, y: 0, height: "100%" }),
    );
    const label = element("span", null, element("bdi", { title: name }, name), isOwn ? element("span", { class: "mine" }, "this row") : null);
    const shares = element("span", { class: "shares" }, element("span", { class: "p" }, percent0(p / 1000, 1)), " · ", element("span", { class: "q" }, percent0(q / 1000, 1)));
    return element("div", { class: isOwn ? "level is-own" : "level", role: "listitem" }, label, drawn, shares);
  }

  xcid.drawEvidence = drawEvidence;
})((globalThis.xcid = globalThis.xcid || {}));
