"use strict";
/* The page of a report: reads the data, keeps what is chosen, and draws it. */
(function (xcid) {
  const { element, svg, percent, plain, fixed, roundUp, legend, drawBars, drawEvidence } = xcid;
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const SHOWN = 15; // features before "show all"
  const decimals = Math.max(0, Math.round(-Math.log10(data.unit)));
  const isTold = Boolean(data.rows[0].p);
  const chosen = { row: 0, feature: 0, all: false, allOverview: false, sort: "score", rising: false };
  let bars = null;

  const count = (number, what) => `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;
  const score = (steps) => (steps === null || steps === undefined ? null : steps * data.unit);
  const thousandth = (steps) => (steps === null || steps === undefined ? null : steps / 1000);

  /* ---- rows ---- */

  function fits(row) {
    const sought = at("find").value.trim().toLowerCase();
    const [output, status] = [at("output").value, at("status").value];
    if (output !== "" && row.top !== Number(output)) return false;
    if (status !== "" && row.status !== status) return false;
    return !sought || [row.name, row.answer, ...row.cells].some((text) => text.toLowerCase().includes(sought));
  }

  function listRows() {
    const found = data.rows.map((row, index) => [row, index]).filter(([row]) => fits(row));
    const label = (row) => `${row.name} · ${row.answer}${row.status === "ok" ? "" : ` · ${row.status.replaceAll("_", " ")}`}`;
    at("row").replaceChildren(...found.map(([row, index]) => element("option", { value: index }, label(row))));
    const isAll = found.length === data.rows.length;
    at("count").textContent = !found.length ? "No row fits" : isAll ? count(found.length, "row") : `${found.length.toLocaleString("en")} of ${count(data.rows.length, "row")}`;
    if (found.length && !found.some(([, index]) => index === chosen.row)) chosen.row = found[0][1];
    showRow();
  }

  function step(by) {
    const list = at("row");
    const next = list.selectedIndex + by;
    if (next < 0 || next >= list.options.length) return;
    chosen.row = Number(list.options[next].value);
    showRow();
  }

  function showRow() {
    const row = data.rows[chosen.row];
    const list = at("row");
    list.value = String(chosen.row);
    at("previous").disabled = list.selectedIndex <= 0;
    at("next").disabled = list.selectedIndex < 0 || list.selectedIndex >= list.options.length - 1;
    at("summary-title").textContent = `Row ${row.name}`;
    at("words").textContent = row.words.join(" ");
    at("facts").textContent = facts(row);
    at("outputs").replaceChildren(...(row.outputs || []).map(([name, value], place) => output(name, value, place)));
    showBars();
    showEvidence();
    showChanges(row);
  }

  function facts(row) {
    const asked = `${count(row.evaluations, "evaluation")} of the model`;
    const flips = row.tried ? `${row.flips.toLocaleString("en")} of ${count(row.tried, "perturbation")} flip it · ` : "";
    return `${flips}${asked} · status: ${row.status.replaceAll("_", " ")}`;
  }

  function output(name, value, place) {
    const isShare = value >= 0 && value <= 1;
    const shown = !isShare ? plain(value) : value > 0 && value < 0.01 ? "< 0.01" : fixed(value, 2);
    return element("div", { class: place ? "output" : "output top" },
      element("bdi", { title: data.classes[name] }, data.classes[name]), isShare ? strip(value, "") : element("span"), element("span", null, shown));
  }

  /* ---- scores ---- */

  function items(row) {
    const fixedOnes = new Map(row.fixed || []);
    return data.features.map((name, key) => {
      const p = isTold ? thousandth(row.p[key]) : null;
      const fixedAs = fixedOnes.get(key) || null;
      return {
        key, name, cell: row.cells[key], score: score(row.score[key]), p, d1: thousandth(row.d1[key]), fixed: fixedAs,
        lower: row.lower ? score(row.lower[key]) : null, upper: row.upper ? score(row.upper[key]) : null,
        noise: isTold && !fixedAs && !(p !== null && p <= data.noise_above),
      };
    });
  }

  const ORDERS = {
    size: (one, other) => Math.abs(other.score) - Math.abs(one.score),
    score: (one, other) => other.score - one.score,
    name: (one, other) => one.name.localeCompare(other.name, "en", { numeric: true }),
    table: (one, other) => one.key - other.key,
  };

  function listed(row) {
    const sought = at("filter").value.trim().toLowerCase();
    return items(row)
      .filter((item) => item.name.toLowerCase().includes(sought) && !(at("told").checked && (item.noise || item.fixed)))
      .sort((one, other) => ORDERS[at("sort").value](one, other) || one.key - other.key);
  }

  function showBars() {
    const found = listed(data.rows[chosen.row]);
    const shown = chosen.all ? found : found.slice(0, SHOWN);
    const drawn = { signed: data.signed, limit: LIMIT, decimals, items: shown };
    if (shown.length) bars = drawBars(at("bars"), drawn, { selected: chosen.feature, onSelect: showFeature, label: "Scores of the features: choose one to see its evidence" });
    else at("bars").replaceChildren(element("p", { class: "quiet" }, "No feature fits."));
    const more = at("more");
    more.hidden = found.length <= SHOWN;
    more.textContent = chosen.all ? `Show the first ${SHOWN}` : `Show all ${found.length} features`;
  }

  /* One axis for all rows, so that bars can be compared from row to row. */
  const LIMIT = (() => {
    let largest = 0;
    for (const row of data.rows) {
      for (const steps of row.score) largest = Math.max(largest, Math.abs(steps || 0));
    }
    const room = largest * data.unit * 1.15;
    return room <= 1 || largest * data.unit > 1 ? roundUp(room) : 1;
  })();

  function showFeature(key) {
    chosen.feature = key;
    if (bars) bars.select(key);
    showEvidence();
  }

  /* ---- evidence ---- */

  function showEvidence() {
    const row = data.rows[chosen.row];
    const item = items(row)[chosen.feature];
    const pair = row.evidence ? row.evidence[chosen.feature] : null;
    at("evidence-title").replaceChildren("Evidence: ", element("bdi", null, item.name));
    if (pair) drawEvidence(at("evidence"), pair, { name: item.name, cell: item.cell, top: data.top, hidden: data.hidden });
    else at("evidence").replaceChildren(element("p", { class: "quiet" }, "The evidence of this score is not in the file."));
    at("figures").replaceChildren(...figures(item, row));
  }

  function figures(item, row) {
    const found = [["value", item.cell]];
    if (row.tried) found.push(["d1", fixed(item.d1, 2)]);
    found.push(["score", item.fixed || fixed(item.score, decimals, data.signed)]);
    if (item.lower !== null && item.upper !== null && !item.fixed) {
      found.push(["95 % limits", `${fixed(item.lower, decimals, data.signed)} to ${fixed(item.upper, decimals, data.signed)}`]);
    }
    if (item.p !== null && !item.fixed) found.push(["p-value", (item.p <= 0.001 ? "≤ 0.001" : fixed(item.p, 3)) + (item.noise ? " (noise)" : "")]);
    return found.map(([name, value]) => element("div", null, element("dt", null, name), element("dd", null, element("bdi", null, value))));
  }

  /* ---- counterfactuals ---- */

  function showChanges(row) {
    const box = at("changes");
    if (!row.nearest || !row.nearest.length) {
      const why = row.nearest ? "None of the perturbations that were tried flips the output." : "The samples behind this row are not in the file.";
      box.replaceChildren(element("p", { class: "quiet" }, why));
      return;
    }
    const flips = row.nearest.map((flip, number) => element("div", { class: "flip" },
      element("span", { class: "number" }, `${["Nearest", "Second", "Third"][number] || number + 1}: ${count(flip.changes.length + flip.more, "change")}`),
      element("span", { class: "what" }, ...flip.changes.map(change), flip.more ? element("span", { class: "quiet" }, `and ${flip.more} smaller ones`) : null)));
    box.replaceChildren(element("p", { class: "quiet" }, "The nearest perturbations, among those behind the scores, that flip the output."), ...flips);
  }

  function change([name, from, to]) {
    const words = data.hidden ? ["changes"] : [element("bdi", null, from), " → ", element("bdi", { class: "to" }, to)];
    return element("span", { class: "change" }, element("b", null, element("bdi", null, name)), " ", ...words);
  }

  /* ---- all rows ---- */

  const COLUMNS = [["name", "feature"], ["score", data.signed ? "mean |score|" : "mean score"], ["told", "told from noise"], ["d1", "mean d1"]]
    .filter(([key]) => key === "name" || data.overview[key]).filter(([key]) => key !== "d1" || data.rows.some((row) => row.tried));

  function showOverview() {
    const { overview } = data;
    const order = data.features.map((name, key) => key).sort((one, other) => {
      const by = chosen.sort === "name" ? data.features[other].localeCompare(data.features[one], "en", { numeric: true }) : (overview[chosen.sort][other] || 0) - (overview[chosen.sort][one] || 0);
      return (chosen.rising ? -by : by) || one - other;
    });
    const shown = chosen.allOverview ? order : order.slice(0, SHOWN);
    const largest = Math.max(...overview.score.map((steps) => steps || 0), 1);
    const heads = COLUMNS.map(([key, text]) => {
      const button = element("button", { type: "button" }, text);
      button.addEventListener("click", () => sortOverview(key));
      const state = chosen.sort !== key ? "none" : chosen.rising ? "ascending" : "descending";
      return element("th", { scope: "col", "aria-sort": state }, button);
    });
    at("overview").replaceChildren(element("thead", null, element("tr", null, ...heads)), element("tbody", null, ...shown.map((key) => overviewLine(key, largest))));
    at("more-overview").hidden = order.length <= SHOWN;
    at("more-overview").textContent = chosen.allOverview ? `Show the first ${SHOWN}` : `Show all ${order.length} features`;
  }

  function overviewLine(key, largest) {
    const button = element("button", { type: "button" }, element("bdi", null, data.features[key]));
    button.addEventListener("click", () => {
      showFeature(key);
      at("bars-title").scrollIntoView({ block: "start" });
    });
    const { overview } = data;
    const cells = { score: () => [strip(overview.score[key] / largest, "share"), fixed(score(overview.score[key]), decimals), limits(key)], told: () => [strip(overview.told[key] / 1000, "share"), `${Math.round(overview.told[key] / 10)} %`], d1: () => [fixed(thousandth(overview.d1[key]), 2)] };
    return element("tr", null, element("td", { class: "feature" }, button), ...COLUMNS.slice(1).map(([name]) => element("td", null, ...cells[name]())));
  }

  function limits(key) {
    const { lower, upper } = data.overview;
    return lower ? element("span", { class: "quiet limits-of-mean" }, ` (${fixed(score(lower[key]), decimals)} to ${fixed(score(upper[key]), decimals)})`) : null;
  }

  function strip(share, className) {
    return svg("svg", { class: className, "aria-hidden": "true" }, svg("rect", { class: "rest", width: "100%", height: "100%", rx: 3 }), svg("rect", { class: "part", width: percent(share || 0), height: "100%", rx: 3 }));
  }

  function sortOverview(key) {
    chosen.rising = chosen.sort === key ? !chosen.rising : false;
    chosen.sort = key;
    showOverview();
    at("overview").querySelectorAll("th button")[COLUMNS.findIndex(([name]) => name === key)].focus();
  }

  /* ---- what stays ---- */

  function showFrame() {
    at("title").textContent = data.title;
    const hidden = data.hidden ? " · values are hidden" : "";
    at("subtitle").textContent = `${count(data.rows.length, "row")}, ${count(data.features.length, "feature")}${data.classes.length ? `, ${count(data.classes.length, "class").replace("classs", "classes")}` : ""}${hidden}`;
    at("notes").replaceChildren(...data.notes.map(note));
    at("left-out").replaceChildren(...data.left_out.map(note));
    at("settings").replaceChildren(...[...data.settings, ["versions", data.versions]].flatMap(([name, value]) => [element("dt", null, name), element("dd", null, value)]));
    at("noise-above").textContent = plain(data.noise_above);
    const poor = data.statuses.filter(([name, words]) => name !== "ok" && words);
    at("statuses").replaceChildren(...poor.map(([name, words]) => element("p", { class: "status-words" }, element("b", null, name.replaceAll("_", " ")), `: ${words}.`)));
    for (const [className, isShown] of [["if-signed", data.signed], ["if-unsigned", !data.signed], ["if-told", isTold]]) {
      for (const node of document.getElementsByClassName(className)) node.hidden = !isShown;
    }
    const marks = data.signed ? [["body holds", "holds the output in place"], ["body pulls", "pulls away from it"]] : [["body plain", "d1 between C+ and C−"]];
    at("bars-legend").replaceWith(legend(...marks, ...(isTold ? [["body holds noise", "~ cannot be told from noise"]] : [])));
    at("told-box").hidden = !isTold;
    at("changes-section").hidden = !data.rows.some((row) => row.nearest);
  }

  function note(text) {
    return element("p", { class: "note quiet" }, text);
  }

  function fillChoices() {
    const all = () => element("option", { value: "" }, "all");
    const tops = [...new Set(data.rows.map((row) => row.top))].sort((one, other) => one - other);
    at("output").replaceChildren(all(), ...tops.map((top) => element("option", { value: top }, data.classes[top] || "")));
    at("output-box").hidden = !data.classes.length || tops.length < 2;
    at("status").replaceChildren(all(), ...data.statuses.map(([name]) => element("option", { value: name }, name.replaceAll("_", " "))));
    at("status-box").hidden = data.statuses.length < 2;
  }

  function listen() {
    at("row").addEventListener("change", () => {
      chosen.row = Number(at("row").value);
      showRow();
    });
    at("previous").addEventListener("click", () => step(-1));
    at("next").addEventListener("click", () => step(1));
    at("find").addEventListener("input", listRows);
    for (const id of ["output", "status"]) at(id).addEventListener("change", listRows);
    for (const id of ["sort", "told"]) at(id).addEventListener("change", showBars);
    at("filter").addEventListener("input", showBars);
    at("more").addEventListener("click", () => {
      chosen.all = !chosen.all;
      showBars();
    });
    at("more-overview").addEventListener("click", () => {
      chosen.allOverview = !chosen.allOverview;
      showOverview();
    });
    let width = at("evidence").clientWidth;
    new ResizeObserver(() => {
      if (at("evidence").clientWidth === width) return;
      width = at("evidence").clientWidth;
      showEvidence();
    }).observe(at("evidence"));
  }

  showFrame();
  fillChoices();
  chosen.feature = items(data.rows[0]).sort(ORDERS.size)[0].key;
  listRows();
  showOverview();
  listen();
})(globalThis.xcid);
