"use strict";
/*
 * Counterfactuals of a row as tables of changes.
 *
 * xcid.showChanges(found, options): found as xcid.report.evidence gives it, or null where there is nothing to show.
 * options  {hidden, verb, buttons(one, number) -> nodes of a counterfactual, tools(change, one) -> nodes of a change}; all may be left out
 */
(function (xcid) {
  const { element, breakable, plain, fixed, probability, at, count } = xcid;
  const ORDINALS = ["Nearest", "Second", "Third"];
  const INTROS = {
    search: "The smallest changes that a search found. Each is needed: without it, the output does not get there.",
    "not reached": "No change that was tried gets there.",
    impossible: "No change within the rules gets there: that is proved.",
    "already there": "The row has the wanted output already.",
    lost: "The samples behind this row are not in the file.",
    unmeasured: " How likely they last after another training was not measured.",
    failed: "The model failed on rows that the search tried.",
  };

  /* What stands above the tables. */
  function introOf(found, verb) {
    if (!found) return INTROS.lost;
    if (!found.length) return `None of the perturbations that were tried ${verb}s the output.`;
    if (found[0].impossible) return INTROS.impossible;
    return INTROS[found[0].kind] || (found[0].kind ? INTROS.search : `The nearest perturbations, among those that importance is measured by, that ${verb} the output.`);
  }

  function showChanges(found, options) {
    const real = (found || []).filter((one) => one.changes.length);
    at("changes-intro").textContent = introOf(found, options.verb) + (real.length && real[0].kind === "not reached" ? ` This is the best that was found${real[0].impossible ? "" : "; there may be better"}.` : real.length && real.every((one) => one.kind && !one.survival) ? INTROS.unmeasured : "");
    at("changes").replaceChildren(...real.map((one, number) => counterfactual(one, number, options)));
    at("changes-means").hidden = !real.some(hasShares);
  }

  function counterfactual(one, number, options) {
    const title = one.kind ? one.kind[0].toUpperCase() + one.kind.slice(1) : ORDINALS[number] || String(number + 1);
    const said = [count(one.changes.length + one.more, "change"), one.likeness, one.impossible ? "" : one.proof, one.cited, one.hurts, one.survival].filter(Boolean).join(" · ");
    const buttons = options.buttons ? element("span", { class: "buttons" }, ...options.buttons(one, number)) : null;
    return element("article", { class: "flip", "aria-label": `${title}: ${said}` },
      element("div", { class: "flip-head" }, element("h3", null, title), moved(one), element("span", { class: "quiet" }, said), buttons),
      element("table", { class: "changes" }, head(one, options), element("tbody", null, ...one.changes.map((change) => line(change, one, options)))),
      one.more ? element("p", { class: "quiet" }, `and ${count(one.more, "more change")}`) : null);
  }

  const isProbability = ({ about, was, output }) => Boolean(about) && [was, output].every((value) => value >= 0 && value <= 1);
  const isHalf = (value, one) => value === 0.5 && isProbability(one);
  const written = (value, one) => (isProbability(one) ? probability(value, one.digits || 2) : plain(value));
  const hasOutput = (one) => Number.isFinite(one.was) && Number.isFinite(one.output);
  const hasShares = (one) => hasOutput(one) && one.changes.some((change) => Number.isFinite(change[3]));

  function added(value, one) {
    if (!Number.isFinite(value)) return "follows";
    return isProbability(one) ? fixed(value, 2, true) : (value > 0 ? "+" : "") + plain(value);
  }

  /* The output before and after. */
  function moved(one) {
    if (!hasOutput(one)) return null;
    const before = written(one.was, one) + (isHalf(one.was, one) ? " (exactly half)" : "");
    const enough = one.kind === "not reached" ? " (exactly half)" : " (exactly half, which is enough)";
    return element("span", { class: "moved" }, element("bdi", null, one.about || "output"), ` ${before} → `, element("b", null, written(one.output, one) + (isHalf(one.output, one) ? enough : "")));
  }

  function head(one, options) {
    const names = ["feature", ...(options.hidden ? [] : ["from", "to"]), ...(hasShares(one) ? ["adds", "then"] : [])];
    const cells = names.map((name) => element("th", { scope: "col", class: name }, name));
    if (options.tools) cells.push(element("th", { scope: "col", class: "tools" }, element("span", { class: "unseen" }, "rules")));
    return element("thead", null, element("tr", null, ...cells));
  }

  /* A date is not broken at its hyphens. */
  const cell = (text) => element("bdi", { class: /^\d{4}-\d\d-\d\d$/.test(text) && "date" }, text);

  function line(change, one, options) {
    const [name, from, to, share, then] = change;
    const cells = [element("th", { scope: "row", class: "feature" }, element("bdi", null, ...breakable(name)))];
    if (!options.hidden) cells.push(element("td", { class: "from" }, cell(from)), element("td", { class: "to" }, cell(to)));
    if (hasShares(one)) cells.push(element("td", { class: "adds" }, added(share, one)), element("td", { class: "then" }, Number.isFinite(then) ? (isHalf(then, one) ? "½" : written(then, one)) : ""));
    if (options.tools) cells.push(element("td", { class: "tools" }, ...options.tools(change, one)));
    return element("tr", null, ...cells);
  }

  xcid.showChanges = showChanges;
})((globalThis.xcid = globalThis.xcid || {}));
