"use strict";
/*
 * One explained row, as the report and the explorer both show it.
 *
 * page  {features, unit, signed, scale, phrases, feature_statuses, top, hidden}: features are names
 * row   what xcid.report.rows.row_of gives: scores are whole numbers of units, p-values of thousandths, others of hundredths
 */
(function (xcid) {
  const { element, svg, percent, whole, plain, fixed, probability, roundUp, legend, drawBars, drawEvidence } = xcid;
  const SHOWN = 15; // features before "show all"
  xcid.root = xcid.root || document; // what a page is drawn in; in a notebook it is a part of its own, with names of its own
  const at = (id) => xcid.root.getElementById(id);
  const all = (className) => xcid.root.querySelectorAll(`.${className}`);
  const count = (number, what) => `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;
  const times = (steps, unit) => (Number.isFinite(steps) ? steps * unit : null);
  const decimals = (unit) => Math.max(0, Math.round(-Math.log10(unit)));
  const spaced = (status) => status.replaceAll("_", " ");
  const note = (text) => element("p", { class: "note quiet" }, text);

  /* ---- the prediction ---- */

  function facts(row, { verb }) {
    const spent = `${count(row.evaluations, "evaluation")} of the model`;
    const flips = row.tried ? `${row.flips.toLocaleString("en")} of ${count(row.tried, "perturbation")} ${verb}${row.flips === 1 ? "s" : ""} it · ` : "";
    return `${flips}${spent} · status: ${spaced(row.status)}`;
  }

  function strip(share, className) {
    return svg("svg", { class: className, "aria-hidden": "true" },
      svg("rect", { class: "rest", width: "100%", height: "100%", rx: 3 }), svg("rect", { class: "part", width: percent(share || 0), height: "100%", rx: 3 }));
  }

  /* The output of a class: a probability as a strip, with a mark where it was before edits. */
  function output(name, value, isTop, before) {
    const isShare = (one) => Number.isFinite(one) && one >= 0 && one <= 1;
    const drawn = isShare(value) ? strip(value) : element("span");
    if (isShare(value) && isShare(before)) drawn.append(svg("line", { class: "before", x1: percent(before), x2: percent(before), y1: "-25%", y2: "125%" }));
    const shown = isShare(value) ? probability(value) : plain(value);
    return element("div", { class: isTop ? "output top" : "output" }, element("bdi", { title: name }, name), drawn, element("span", null, shown));
  }

  /* ---- scores ---- */

  /* Everything about each feature of a row; what is not significant is faint. */
  function items(row, page) {
    const fixedOnes = new Map(row.fixed || []);
    const worths = new Map(row.worth || []);
    const faintOnes = new Set(row.faint || []);
    return page.features.map((name, key) => {
      const p = row.p ? times(row.p[key], 0.001) : null;
      return {
        key, name, cell: row.cells[key], worth: worths.get(key) || "", score: times(row.score[key], page.unit), p, d1: times(row.d1[key], 0.01), alone: row.alone ? times(row.alone[key], 0.01) : null, fixed: fixedOnes.get(key) || null,
        lower: row.lower ? times(row.lower[key], page.unit) : null, upper: row.upper ? times(row.upper[key], page.unit) : null,
        faint: faintOnes.has(key),
      };
    });
  }

  const ORDERS = {
    size: (one, other) => Math.abs(other.score) - Math.abs(one.score),
    score: (one, other) => other.score - one.score,
    importance: (one, other) => (other.d1 || 0) - (one.d1 || 0),
    name: (one, other) => one.name.localeCompare(other.name, "en", { numeric: true }),
    table: (one, other) => one.key - other.key,
  };

  function sorted(found, order) {
    return found.sort((one, other) => ORDERS[order](one, other) || one.key - other.key);
  }

  /* The end of an axis for scores up to a size; no probability and no distance is above 1. */
  function limitOf(largest, scale) {
    const room = largest * 1.15;
    return room <= 1 || largest > 1 || scale !== "probability" && scale !== "d1" ? roundUp(room) : 1;
  }

  function showMore(button, total, isAll, most) {
    button.hidden = total <= most;
    button.dataset.left = isAll ? "" : `${count(total - most, "more feature")} not shown`; // on paper, which cannot be clicked
    button.textContent = isAll ? `Show the first ${most}` : `Show all ${total} features`;
  }

  /* The first bars, or all; gives what drawBars gives, or null where there is none. */
  function showBars(found, page, { limit, isAll, ...options }) {
    const shown = isAll ? found : found.slice(0, SHOWN);
    showMore(at("more"), found.length, isAll, SHOWN);
    if (shown.length) {
      const { signed, phrases, unit } = page;
      return drawBars(at("bars"), { signed, phrases, limit, decimals: decimals(unit), items: shown }, { ...options, label: "What each value did: choose a feature to see its evidence" });
    }
    at("bars").replaceChildren(element("p", { class: "quiet" }, "No feature matches."));
    return null;
  }

  function filled(text, parts) {
    return Object.entries(parts).reduce((said, [name, part]) => said.replace(`{${name}}`, () => part), text);
  }

  /* What a row hangs on, in sentences. */
  function hangs(row, page) {
    const did = (key) => fixed(times(row.score[key], page.unit), decimals(page.unit), true);
    return (row.hangs || []).map(([kind, key]) => filled(page.phrases.hangs[kind], { share: whole(row.alone[key] / 100), did: did(key), name: page.features[key] }));
  }

  /* Where contributions begin and end; those of several classes are about the row's own. */
  function sum({ sum: [start, end], about, exact }, { sum: text, unit }) {
    const own = about ? unit.replace("the predicted class", () => about) : unit;
    return filled(text, { exact: exact ? "exact " : "", unit: own, start, end, here: "here" });
  }

  /* What the strongest features do and what the row hangs on, in sentences; the sum, and what stands beside scores. */
  function showEffects(row, page) {
    const { phrases } = page;
    at("effects").replaceChildren(...[...(row.effects || []), ...hangs(row, page)].map((text) => element("li", null, text)));
    at("sum").textContent = row.sum ? sum(row, phrases) : "";
    at("worth-means").textContent = [...(row.worth ? [phrases.worth] : []), ...(row.score ? phrases.importance : [])].join("; ");
  }

  /* The meaning of bars, and what the text says that is not so everywhere. */
  function showLegend({ signed, phrases }, hasP) {
    const marks = signed ? [["body supports", phrases.supports], ["body opposes", phrases.opposes]] : [["body plain", phrases.unsigned]];
    const faint = hasP ? [["body supports faint", `~ ${phrases.not_significant}`]] : [];
    at("bars-legend").replaceChildren(...legend(...marks, ...faint).children);
    for (const node of all("verb")) node.textContent = phrases.verb;
    for (const node of all("limits-over")) node.textContent = phrases.limits;
    for (const [className, isShown] of [["if-signed", signed], ["if-unsigned", !signed], ["if-p", hasP]]) {
      for (const node of all(className)) node.hidden = !isShown;
    }
  }

  /* ---- evidence ---- */

  function showEvidence(item, pair, row, page, lacking) {
    at("evidence-title").replaceChildren("Evidence: ", element("bdi", null, item.name));
    if (pair) drawEvidence(at("evidence"), pair, { name: item.name, cell: item.cell, top: page.top, hidden: page.hidden, phrases: page.phrases });
    else at("evidence").replaceChildren(element("p", { class: "quiet" }, lacking));
    at("figures").replaceChildren(...figures(item, row, page).map(([name, value]) => element("div", null, element("dt", null, name), element("dd", null, element("bdi", null, value)))));
  }

  function figures(item, row, { unit, signed, phrases, feature_statuses: statuses }) {
    const score = (value) => fixed(value, decimals(unit), signed);
    const found = [["value", item.cell]];
    if (row.tried && item.d1 !== null) found.push(["importance (d1)", fixed(item.d1, 2)]);
    if (item.alone !== null) found.push([`${phrases.verb}s it alone`, `${whole(item.alone)} of its usual values that were tried`]);
    if (item.fixed) found.push(["status", Object.hasOwn(statuses, item.fixed) ? `${item.fixed}: ${statuses[item.fixed]}` : item.fixed]);
    if (item.fixed && item.score === 0) return found;
    if (item.worth) found.push(["worth", item.worth]);
    found.push([signed ? `contribution in ${phrases.unit}` : "score", score(item.score)]);
    if (row.exact && item.lower === null) return [...found, [phrases.limits, "none: it is exact"]];
    if (item.lower !== null && item.upper !== null) found.push([phrases.limits, `${score(item.lower)} to ${score(item.upper)}`]);
    if (item.p !== null) found.push(["p-value", (item.p <= 0.001 ? "≤ 0.001" : fixed(item.p, 3)) + (item.faint ? `: ${phrases.not_significant}` : "")]);
    return found;
  }

  /* The title of counterfactuals, wherever it stands. */
  function showWhatWould(title) {
    for (const node of all("what-would")) node.textContent = title;
  }

  /* Draw anew when an element has another width. */
  function onWidth(node, draw) {
    let width = node.clientWidth;
    new ResizeObserver(() => {
      if (node.clientWidth === width) return;
      width = node.clientWidth;
      draw();
    }).observe(node);
  }

  Object.assign(xcid, { SHOWN, at, count, times, decimals, spaced, note, facts, strip, output, items, sorted, limitOf, showMore, showBars, showEffects, showLegend, showEvidence, showWhatWould, onWidth });
})((globalThis.xcid = globalThis.xcid || {}));
