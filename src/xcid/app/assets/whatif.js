"use strict";
/*
 * Counterfactuals with buttons, and the rules that hold for the search.
 *
 * xcid.showRules(features, limits, allow): limits {pinned, forbidden}, a set of keys and a list of [key, change]; a change is "rise",
 * "fall" or the place of a level. allow(limits) gets those that are left.
 * xcid.showFound(features, cells, found, actions): found as xcid.app.search gives it for a row with these cells;
 * actions {isFresh(), verb(), apply(cells), pin(key), forbid([key, change]), copy(button, lines)}.
 */
(function (xcid) {
  const { element, at, note, said, showChanges } = xcid;

  /* The change of a feature as a rule against it; null where a missing cell has no direction. */
  function ruleOf(feature, key, before, after) {
    if (feature.kind === "levels") return [key, after];
    return before === null || after === null ? null : [key, after > before ? "rise" : "fall"];
  }

  function inWords(feature, change) {
    return feature.kind === "levels" ? `${feature.name} may not become ${said(feature, change)}` : `${feature.name} may not ${change}`;
  }

  /* What is pinned and forbidden, each a button that allows it again. */
  function showRules(features, { pinned, forbidden }, allow) {
    const pins = [...pinned].sort((one, other) => one - other).map((key) => [`${features[key].name} stays as it is`, { pinned: new Set([...pinned].filter((one) => one !== key)), forbidden }]);
    const bans = forbidden.map((ban) => [inWords(features[ban[0]], ban[1]), { pinned, forbidden: forbidden.filter((one) => one !== ban) }]);
    const rules = [...pins, ...bans].map(([text, left]) => {
      const button = element("button", { type: "button", "aria-label": `Allow again: ${text}`, title: "Allow again" }, element("bdi", null, text), " ✕");
      button.addEventListener("click", () => allow(left));
      return button;
    });
    if (rules.length > 1) {
      const all = element("button", { type: "button" }, "Allow all");
      all.addEventListener("click", () => allow({ pinned: new Set(), forbidden: [] }));
      rules.push(all);
    }
    at("rules").hidden = !rules.length;
    keepFocus(at("rules"), () => at("rules").replaceChildren(...rules));
  }

  function showFound(features, cells, { counterfactuals, notes }, actions) {
    /* A button that does nothing while what it stands beside is out of date. */
    const tool = (text, label, act) => {
      const button = element("button", { type: "button", "aria-label": label, title: label }, text);
      button.addEventListener("click", () => actions.isFresh() && act(button));
      return button;
    };
    const buttons = (one) => [tool("Apply", null, () => actions.apply(one.cells)), tool("Copy as code", null, (button) => actions.copy(button, one.code))];
    const tools = (change, one) => {
      const key = one.columns[one.changes.indexOf(change)];
      const ban = ruleOf(features[key], key, cells[key], one.cells[key]);
      return [
        tool("Pin", `Pin ${features[key].name}: it stays as it is`, () => actions.pin(key)),
        ban && tool("Forbid", `Forbid: ${inWords(features[key], ban[1])}`, () => actions.forbid(ban)),
      ];
    };
    keepFocus(at("changes"), () => showChanges(counterfactuals, { verb: actions.verb(), buttons, tools }));
    if (!counterfactuals.length) at("changes-intro").textContent = "";
    at("changes").setAttribute("aria-busy", "false");
    at("hints").replaceChildren(...notes.map(note));
  }

  /* Draw anew; the button at the place of the one that had the focus gets it, or the title where there is none. */
  function keepFocus(node, draw) {
    const buttons = () => [...node.querySelectorAll("button")];
    const focused = buttons().indexOf(xcid.root.activeElement);
    draw();
    if (focused >= 0) (buttons()[focused] || at("changes-title")).focus();
  }

  Object.assign(xcid, { showRules, showFound });
})((globalThis.xcid = globalThis.xcid || {}));
