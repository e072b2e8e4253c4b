"use strict";
/* The page of the explorer: keeps what is picked and edited, asks the server about it, and draws the answers. */
(async function (xcid) {
  const { element, svg, percent, plain, fixed, roundUp, legend, drawBars, drawEvidence, drawControls } = xcid;
  const at = (id) => document.getElementById(id);
  const SHOWN = 15; // bars before "show all", and controls that need no filter
  const SHOWN_CONTROLS = 40;
  const PAUSE = 40; // milliseconds that edits are gathered
  const IDLE = 300; // without an edit, then counterfactuals are searched for
  const FAST = 400; // an answer that took longer is followed by no search that was not asked for

  const count = (number, what) => `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;
  const data = await ask("description");
  if (!data) return;
  const state = { row: 0, cells: [], frozen: new Set(), question: {}, feature: 0, all: false, allControls: false };
  const seen = { edition: 0, isBusy: false, timer: 0, idle: 0, answer: null, limit: 0 };
  let bars = null;

  /* ---- the server ---- */

  /* A record, or null after its error was shown. */
  async function ask(name, body) {
    try {
      const request = body ? { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) } : {};
      const response = await fetch(name, request);
      const record = await response.json();
      if (response.ok) return record;
      complain(record.error);
    } catch {
      complain("xcid app does not answer any more: start it again, and open the address that it prints.");
    }
    return null;
  }

  function complain(words) {
    at("problem").hidden = !words;
    at("problem").textContent = words || "";
  }

  function question() {
    return { cells: state.cells, frozen: [...state.frozen], question: state.question, feature: state.feature };
  }

  /* Something was changed: one request at a time, and the last edit always gets one. */
  function changed() {
    seen.edition += 1;
    clearTimeout(seen.timer);
    clearTimeout(seen.idle);
    seen.timer = setTimeout(refresh, PAUSE);
    at("busy").textContent = "…";
    showControls();
  }

  async function refresh() {
    if (seen.isBusy) return;
    seen.isBusy = true;
    const { edition } = seen;
    const row = state.row;
    const start = performance.now();
    const answer = await ask("answer", question());
    const took = performance.now() - start;
    seen.isBusy = false;
    const isLast = edition === seen.edition;
    if (answer && row === state.row) show(answer, isLast);
    if (isLast) at("results").classList.toggle("stale", !answer);
    if (!isLast) refresh();
    else settle(answer, took);
  }

  function settle(answer, took) {
    at("busy").textContent = "";
    document.documentElement.dataset.edition = String(seen.edition); // what is on the page answers this edit
    if (!answer || !answer.row) return;
    at("seek").hidden = took < FAST;
    if (took < FAST) seen.idle = setTimeout(seek, IDLE);
  }

  async function seek() {
    const { edition } = seen;
    at("seek").hidden = true;
    at("changes-words").textContent = "Searching for nearer ones …";
    const found = await ask("search", question());
    if (edition !== seen.edition) return;
    if (found && found.problem) complain(found.problem);
    if (found && found.nearest && found.nearest.length) showChanges(found.nearest, "The nearest changes that a search has found.");
    else showChanges(seen.answer.nearest, FROM_SAMPLES);
    document.documentElement.dataset.sought = String(edition);
  }

  /* ---- what is picked, edited and asked ---- */

  function pick(row) {
    state.row = row;
    state.cells = [...data.rows[row].cells];
    seen.limit = 0;
    at("row").value = String(row);
    at("previous").disabled = row === 0;
    at("next").disabled = row === data.rows.length - 1;
    if (at("ask").value === "class") aim();
    changed();
  }

  function showControls() {
    const own = data.rows[state.row].cells;
    controls.show(state.cells, own, state.frozen);
    at("undo").disabled = state.cells.every((cell, key) => cell === own[key]);
    at("free").hidden = !state.frozen.size;
  }

  function listControls() {
    const fit = controls.filter(at("find").value, state.allControls ? Infinity : SHOWN_CONTROLS);
    at("more-controls").hidden = fit <= SHOWN_CONTROLS;
    at("more-controls").textContent = state.allControls ? `Show the first ${SHOWN_CONTROLS}` : `Show all ${fit} features`;
  }

  const controls = drawControls(at("controls"), data.features, {
    onEdit(key, cell) {
      state.cells[key] = cell;
      if (state.feature !== key) look(key);
      changed();
    },
    onFreeze(key, isFrozen) {
      if (isFrozen) state.frozen.add(key);
      else state.frozen.delete(key);
      changed();
    },
    onLook: look,
  });

  const WORDS = {
    flip: data.classes.length > 2 ? "What leads to any other class?" : "What flips the class?",
    class: "What leads to, or out of, a class?",
    threshold: data.classes.length ? "What crosses a probability?" : "What crosses a level?",
    interval: "What leaves an interval?",
  };

  /* A class that the row is not in. */
  function aim() {
    const { outputs } = data.rows[state.row];
    const top = outputs.indexOf(Math.max(...outputs));
    const targets = data.questions.find((one) => one.kind === "class").targets;
    at("target").value = String([...Array(targets).keys()].find((place) => place !== top));
    readQuestion();
  }

  function chooseQuestion() {
    const asked = data.questions.find((one) => one.kind === at("ask").value);
    at("target-box").hidden = !asked.targets;
    at("level-box").hidden = !("level" in asked || "half_width" in asked);
    at("level-name").textContent = asked.kind === "interval" ? "Half width" : data.classes.length ? "Probability" : "Level";
    if (asked.targets) {
      at("target").replaceChildren(...data.classes.slice(0, asked.targets).map((name, place) => element("option", { value: place }, name)));
      at("target").value = String(asked.target ?? 0);
    }
    if (!at("level-box").hidden) at("level").value = String(asked.level ?? asked.half_width);
    if (asked.kind === "class") aim();
    readQuestion();
  }

  function readQuestion() {
    const asked = data.questions.find((one) => one.kind === at("ask").value);
    const made = { kind: asked.kind };
    if (asked.kind === "class" || asked.kind === "threshold") made.target = asked.targets ? Number(at("target").value) : 0;
    const level = at("level").valueAsNumber;
    if ("level" in asked) made.level = Number.isFinite(level) ? level : null;
    if ("half_width" in asked) made.half_width = Number.isFinite(level) ? level : null;
    state.question = made;
    seen.limit = 0;
  }

  /* ---- the answer ---- */

  function show(answer, isLast) {
    if (isLast || answer.row) seen.answer = answer;
    complain(answer.problem);
    showOutputs(answer.outputs || []);
    for (const id of ["scores", "evidence-section", "changes-section"]) at(id).hidden = !answer.row;
    at("words").textContent = answer.row ? answer.row.words.join(" ") : "";
    at("facts").textContent = answer.row ? facts(answer.row) : "";
    if (!answer.row) return;
    showBars();
    showEvidence();
    showChanges(answer.nearest, FROM_SAMPLES);
  }

  const isNumber = !data.classes.length;
  const shown = (value) => (isNumber || value < 0 || value > 1 ? plain(value) : value > 0 && value < 0.01 ? "< 0.01" : fixed(value, 2));
  const className = (place) => (isNumber ? "" : data.classes[place]);

  function showOutputs(outputs) {
    const row = data.rows[state.row];
    const isEdited = state.cells.some((cell, key) => cell !== row.cells[key]);
    const top = outputs.length ? outputs[0] : null;
    at("summary-title").textContent = `Row ${row.name}${isEdited ? ", edited" : ""}`;
    at("answer").replaceChildren(...(top ? [isNumber ? "The model gives " : "The model says ", element("bdi", null, className(top[0])), isNumber ? "" : " with ", shown(top[1])] : ["No prediction"]));
    const first = row.outputs.indexOf(Math.max(...row.outputs));
    const before = [isNumber ? "" : element("bdi", null, className(first)), isNumber ? "" : " with ", shown(row.outputs[first]), " before the edits"];
    at("before").replaceChildren(...(isEdited ? before : []));
    at("outputs").replaceChildren(...(isNumber ? [] : outputs.map(([place, value], order) => output(place, value, order, isEdited ? row.outputs[place] : null))));
  }

  /* A probability as a strip, with a mark where it was before the edits. */
  function output(place, value, order, before) {
    const isShare = value >= 0 && value <= 1;
    const strip = svg("svg", { "aria-hidden": "true" }, svg("rect", { class: "rest", width: "100%", height: "100%", rx: 3 }), svg("rect", { class: "part", width: percent(value), height: "100%", rx: 3 }));
    if (before !== null && before >= 0 && before <= 1) strip.append(svg("line", { class: "before", x1: percent(before), x2: percent(before), y1: "-25%", y2: "125%" }));
    return element("div", { class: order ? "output" : "output top" }, element("bdi", { title: className(place) }, className(place)), isShare ? strip : element("span"), element("span", null, shown(value)));
  }

  function facts(row) {
    const asked = `${count(row.evaluations, "evaluation")} of the model`;
    const flips = row.tried ? `${row.flips.toLocaleString("en")} of ${count(row.tried, "perturbation")} flip it · ` : "";
    return `${flips}${asked} · status: ${row.status.replaceAll("_", " ")}`;
  }

  /* ---- scores ---- */

  const times = (steps, unit) => (steps === null || steps === undefined ? null : steps * unit);

  function items() {
    const { row, unit } = seen.answer;
    const fixedOnes = new Map(row.fixed || []);
    return data.features.map(({ name }, key) => {
      const p = row.p ? times(row.p[key], 0.001) : null;
      const fixedAs = fixedOnes.get(key) || null;
      return {
        key, name, cell: row.cells[key], score: times(row.score[key], unit), p, d1: times(row.d1[key], 0.001), fixed: fixedAs,
        lower: row.lower ? times(row.lower[key], unit) : null, upper: row.upper ? times(row.upper[key], unit) : null,
        noise: Boolean(row.p) && !fixedAs && !(p !== null && p <= data.noise_above),
      };
    });
  }

  const ORDERS = {
    size: (one, other) => Math.abs(other.score) - Math.abs(one.score),
    score: (one, other) => other.score - one.score,
    name: (one, other) => one.name.localeCompare(other.name, "en", { numeric: true }),
    table: (one, other) => one.key - other.key,
  };
  const decimals = () => Math.max(0, Math.round(-Math.log10(seen.answer.unit)));

  function showBars() {
    const { signed } = seen.answer;
    const found = items().sort((one, other) => ORDERS[at("sort").value](one, other) || one.key - other.key);
    const largest = Math.max(...found.map((item) => Math.abs(item.score || 0)));
    const room = largest * 1.15;
    seen.limit = Math.max(seen.limit, room <= 1 || largest > 1 ? roundUp(room) : 1); // it does not shrink while one row is edited
    const drawn = state.all ? found : found.slice(0, SHOWN);
    const hadFocus = at("bars").contains(document.activeElement);
    bars = drawBars(at("bars"), { signed, limit: seen.limit, decimals: decimals(), items: drawn }, { selected: state.feature, onSelect: look, label: "Scores of the features: choose one to see its evidence" });
    if (hadFocus) at("bars").querySelector('[tabindex="0"]').focus();
    at("more").hidden = found.length <= SHOWN;
    at("more").textContent = state.all ? `Show the first ${SHOWN}` : `Show all ${found.length} features`;
    const marks = signed ? [["body holds", "holds the output in place"], ["body pulls", "pulls away from it"]] : [["body plain", "d1 between C+ and C−"]];
    at("bars-legend").replaceChildren(...legend(...marks, ["body holds noise", "~ cannot be told from noise"]).children);
  }

  function look(key) {
    if (key === state.feature) return;
    state.feature = key;
    if (!seen.answer || !seen.answer.row) return;
    if (bars) bars.select(key);
    showEvidence();
    if (!seen.answer.evidence[key]) changed(); // of many features only the strongest come with their pictures
  }

  /* ---- evidence and counterfactuals ---- */

  function showEvidence() {
    const { row, evidence, signed } = seen.answer;
    const item = items()[state.feature];
    const pair = evidence[state.feature];
    at("evidence-title").replaceChildren("Evidence: ", element("bdi", null, item.name));
    at("meaning").textContent = data.features[state.feature].words || "";
    if (pair) drawEvidence(at("evidence"), pair, { name: item.name, cell: item.cell, top: data.top, hidden: false });
    else at("evidence").replaceChildren(element("p", { class: "quiet" }, "…"));
    const found = [["value", item.cell]];
    if (row.tried) found.push(["d1", fixed(item.d1, 2)]);
    found.push(["score", item.fixed || fixed(item.score, decimals(), signed)]);
    if (item.lower !== null && item.upper !== null && !item.fixed) found.push(["95 % limits", `${fixed(item.lower, decimals(), signed)} to ${fixed(item.upper, decimals(), signed)}`]);
    if (item.p !== null && !item.fixed) found.push(["p-value", (item.p <= 0.001 ? "≤ 0.001" : fixed(item.p, 3)) + (item.noise ? " (noise)" : "")]);
    at("figures").replaceChildren(...found.map(([name, value]) => element("div", null, element("dt", null, name), element("dd", null, element("bdi", null, value)))));
  }

  const FROM_SAMPLES = "The nearest perturbations, among those behind the scores, that flip the output.";

  function showChanges(nearest, words) {
    at("changes-words").textContent = nearest.length ? words : "None of the perturbations that were tried flips the output.";
    at("changes").replaceChildren(...nearest.map((flip, number) => element("div", { class: "flip" },
      element("span", { class: "number" }, `${["Nearest", "Second", "Third"][number] || number + 1}: ${count(flip.changes.length + flip.more, "change")}`),
      element("span", { class: "what" }, ...flip.changes.map(change), flip.more ? element("span", { class: "quiet" }, `and ${flip.more} smaller ones`) : null))));
  }

  function change([name, from, to]) {
    return element("span", { class: "change" }, element("b", null, element("bdi", null, name)), " ", element("bdi", null, from), " → ", element("bdi", { class: "to" }, to));
  }

  /* ---- the beginning ---- */

  function fill() {
    document.title = data.title;
    at("title").textContent = data.title;
    at("notes").replaceChildren(...data.notes.map((note) => element("p", { class: "note quiet" }, note)));
    const named = (row) => {
      const top = row.outputs.indexOf(Math.max(...row.outputs));
      return `${row.name} · ${isNumber ? "" : `${className(top)} `}${shown(row.outputs[top])}`;
    };
    at("row").replaceChildren(...data.rows.map((row, index) => element("option", { value: index }, named(row))));
    at("find-box").hidden = data.features.length <= SHOWN;
    at("ask").replaceChildren(...data.questions.map(({ kind }) => element("option", { value: kind }, WORDS[kind])));
  }

  function listen() {
    at("choices").addEventListener("submit", (event) => event.preventDefault());
    at("row").addEventListener("change", () => pick(Number(at("row").value)));
    at("previous").addEventListener("click", () => pick(Math.max(0, state.row - 1)));
    at("next").addEventListener("click", () => pick(Math.min(data.rows.length - 1, state.row + 1)));
    at("ask").addEventListener("change", () => { chooseQuestion(); changed(); });
    at("target").addEventListener("change", () => { readQuestion(); changed(); });
    at("level").addEventListener("input", () => { readQuestion(); changed(); });
    at("undo").addEventListener("click", () => pick(state.row));
    at("free").addEventListener("click", () => { state.frozen.clear(); changed(); });
    at("find").addEventListener("input", listControls);
    at("more-controls").addEventListener("click", () => { state.allControls = !state.allControls; listControls(); });
    at("sort").addEventListener("change", showBars);
    at("more").addEventListener("click", () => { state.all = !state.all; showBars(); });
    at("seek").addEventListener("click", seek);
    let width = at("evidence").clientWidth;
    new ResizeObserver(() => {
      if (at("evidence").clientWidth === width || !seen.answer || !seen.answer.row) return;
      width = at("evidence").clientWidth;
      showEvidence();
    }).observe(at("evidence"));
  }

  fill();
  listen();
  listControls();
  chooseQuestion();
  pick(0);
})(globalThis.xcid);
