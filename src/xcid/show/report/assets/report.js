"use strict";
/* The page of a report: reads the data, keeps what is chosen, and draws it. */
(function (xcid) {
  const { element, breakable, whole, fixed, SHOWN, at, count, times, spaced, note, facts, strip, output, items, sorted, limitOf, showMore, showEffects, showLegend, showChanges, showWhatWould, onWidth } = xcid;
  const data = JSON.parse(at("data").textContent);
  const decimals = xcid.decimals(data.unit);
  const hasP = data.rows.some((row) => row.p);
  const chosen = { row: 0, feature: 0, all: false, allOverview: false, sort: "score", rising: false };
  let bars = null;

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
    const label = (row) => `${row.name} · ${row.answer}${row.status === "ok" ? "" : ` · ${spaced(row.status)}`}`;
    at("row").replaceChildren(...found.map(([row, index]) => element("option", { value: index }, label(row))));
    const isAll = found.length === data.rows.length;
    at("count").textContent = !found.length ? "No row matches" : isAll ? count(found.length, "row") : `${found.length.toLocaleString("en")} of ${count(data.rows.length, "row")}`;
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
    at("sentences").textContent = row.sentences.join(" ");
    showEffects(row, data);
    at("reasons").hidden = !row.reasons;
    at("reasons").textContent = row.reasons || "";
    at("facts").textContent = facts(row, data.phrases);
    at("outputs").replaceChildren(...(row.outputs || []).map(([place, value], order) => output(data.classes[place], value, !order)));
    for (const id of ["columns", "changes-section"]) at(id).hidden = !row.score;
    if (!row.score) return;
    showBars();
    showEvidence();
    at("changes-section").hidden = !data.rows.some((one) => one.counterfactuals);
    showChanges(row.counterfactuals || null, { hidden: data.hidden, verb: data.phrases.verb });
  }

  /* ---- scores and evidence ---- */

  function showBars() {
    const sought = at("filter").value.trim().toLowerCase();
    const isOut = (item) => at("significant").checked && (item.faint || item.fixed);
    const found = items(data.rows[chosen.row], data).filter((item) => item.name.toLowerCase().includes(sought) && !isOut(item));
    bars = xcid.showBars(sorted(found, at("sort").value), data, { limit: limitOf(largestOf(data.rows[chosen.row]), data.scale), isAll: chosen.all, selected: chosen.feature, onSelect: showFeature });
  }

  /* The largest size of a row: its bars fill the axis, whatever other rows have. */
  function largestOf(row) {
    return data.unit * row.score.reduce((most, steps) => Math.max(most, Math.abs(steps || 0)), 0);
  }

  function showFeature(key) {
    chosen.feature = key;
    if (bars) bars.select(key);
    showEvidence();
  }

  function showEvidence() {
    const row = data.rows[chosen.row];
    const pair = row.evidence ? row.evidence[chosen.feature] : null;
    xcid.showEvidence(items(row, data)[chosen.feature], pair, row, data, "The evidence of this score is not in the file.");
  }

  /* ---- all rows ---- */

  const COLUMNS = [["name", "feature"], ["score", data.signed ? "mean size" : "mean score"], ["mean", "mean contribution"], ["significant", "significant"], ["d1", "importance"], ["alone", "alone"]]
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
      return element("th", { scope: "col", class: key, "aria-sort": state }, button);
    });
    at("overview").replaceChildren(element("thead", null, element("tr", null, ...heads)), element("tbody", null, ...shown.map((key) => overviewLine(key, largest))));
    showMore(at("more-overview"), order.length, chosen.allOverview, SHOWN);
  }

  function overviewLine(key, largest) {
    const button = element("button", { type: "button" }, element("bdi", null, ...breakable(data.features[key])));
    button.addEventListener("click", () => {
      showFeature(key);
      at("bars-title").scrollIntoView({ block: "start" });
    });
    const { score, mean, significant, d1, alone } = data.overview;
    const cells = {
      score: () => [strip(score[key] / largest, "share"), fixed(times(score[key], data.unit), decimals)],
      mean: () => [fixed(times(mean[key], data.unit), decimals, true), limits(key)],
      significant: () => [strip(significant[key] / 100, "share"), whole(significant[key] / 100)],
      d1: () => [fixed(times(d1[key], 0.01), 2)],
      alone: () => [alone[key] === null ? "–" : whole(alone[key] / 100)],
    };
    return element("tr", null, element("td", { class: "feature" }, button), ...COLUMNS.slice(1).map(([name]) => element("td", { class: name }, ...cells[name]())));
  }

  function limits(key) {
    const { lower, upper } = data.overview;
    const shown = (steps) => fixed(times(steps[key], data.unit), decimals, true);
    return lower ? element("span", { class: "quiet limits-of-mean" }, ` (${shown(lower)} to ${shown(upper)})`) : null;
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
    at("question").textContent = data.question;
    const limits = element("span", { class: "limits-of-mean" }, `; in brackets: ${data.overview.limits}`);
    at("overview-means").replaceChildren(...(data.overview.mean ? [`mean size and mean contribution are in ${data.phrases.unit}`, limits] : []));
    at("notes").replaceChildren(...data.notes.map(note));
    at("left-out").replaceChildren(...data.left_out.map(note));
    at("settings").replaceChildren(...[...data.settings, ["written by", data.versions]].flatMap(([name, value]) => [element("dt", null, name), element("dd", null, value)]));
    const poor = data.statuses.filter(([name, meaning]) => name !== "ok" && meaning);
    at("statuses").replaceChildren(...poor.map(([name, meaning]) => element("p", { class: "status-meaning" }, element("b", null, spaced(name)), `: ${meaning}`)));
    showLegend(data, hasP);
    at("significant-box").hidden = !hasP;
    showWhatWould(data.what_would);
  }

  function fillChoices() {
    const all = () => element("option", { value: "" }, "all");
    const tops = [...new Set(data.rows.map((row) => row.top))].sort((one, other) => one - other);
    at("output").replaceChildren(all(), ...tops.map((top) => element("option", { value: top }, data.classes[top] || "")));
    at("output-box").hidden = !data.classes.length || tops.length < 2;
    at("status").replaceChildren(all(), ...data.statuses.map(([name]) => element("option", { value: name }, spaced(name))));
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
    for (const id of ["sort", "significant"]) at(id).addEventListener("change", showBars);
    at("filter").addEventListener("input", showBars);
    at("more").addEventListener("click", () => {
      chosen.all = !chosen.all;
      showBars();
    });
    at("more-overview").addEventListener("click", () => {
      chosen.allOverview = !chosen.allOverview;
      showOverview();
    });
    onWidth(at("evidence"), showEvidence);
    addEventListener("beforeprint", layOut);
    addEventListener("afterprint", clear);
  }

  /* ---- paper ---- */

  /* All rows one below the other, as the page shows them one by one: paper cannot be clicked. */
  function layOut() {
    const shown = chosen.row;
    document.body.classList.add("on-paper"); // pictures are drawn as wide as they will be
    const rows = data.rows.map((row, place) => {
      chosen.row = place;
      showRow();
      const parts = ["summary", "columns", "changes-section"].map(at).filter((part) => !part.hidden);
      return element("article", { class: "of-row" }, ...parts.map((part) => part.cloneNode(true)));
    });
    chosen.row = shown;
    showRow();
    at("paper").replaceChildren(...rows);
  }

  function clear() {
    at("paper").replaceChildren();
    document.body.classList.remove("on-paper");
  }

  showFrame();
  fillChoices();
  const explained = data.rows.find((row) => row.score);
  if (explained) chosen.feature = sorted(items(explained, data), "size")[0].key; // the page opens on the strongest
  listRows();
  showOverview();
  listen();
})(globalThis.xcid);
