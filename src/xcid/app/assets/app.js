"use strict";
/*
 * xcid.explore(send): the explorer, which keeps what is picked and edited, asks about it, and draws the answers.
 *
 * send(name, body, complain)  gives a promise of a record: of an answer, or {error} in words; it fails, in words, where nobody is
 *                             there any more. complain(words) says what is wrong in the meantime, and complain() that it no longer is.
 * Gives a promise of the description of what there is, or of null.
 */
globalThis.xcid.explore = async function (send) {
  const { xcid } = globalThis;
  const { element, SHOWN, at, note, facts, output, items, sorted, limitOf, showMore, showEffects, showLegend, showWhatWould, onWidth, drawControls, makeSteps, onStepKeys, copyText, showRules, showFound, readNumber, makeLine, drawRows, drawSave, makeComparison } = xcid;
  const SHOWN_CONTROLS = 40;
  const PAUSE = 40; // milliseconds that edits are gathered
  const IDLE = 300; // without an edit, then counterfactuals are searched for
  const FAST = 1000; // an answer that took longer is followed by no search that was not asked for

  const NOTHING = { counterfactuals: [], notes: [] };

  const data = await ask("description");
  if (!data) return null;
  const state = { row: data.rows[0], cells: [], pinned: new Set(), forbidden: [], question: {}, feature: 0, all: false, allControls: false };
  const seen = { edition: 0, sought: 0, isBusy: false, isGoing: false, isWanted: false, hasOpened: false, timer: 0, idle: 0, answer: null, limit: 0 };
  const steps = makeSteps();
  const names = data.features.map(({ name }) => name);
  const known = new Map(data.rows.map((row) => [row.at, row])); // rows that the server has described
  let bars = null;

  /* ---- requests ---- */

  /* A record, or null after its error was shown. */
  async function ask(name, body) {
    const record = await send(name, body, complain).catch((problem) => ({ error: problem.message }));
    if (!record.error) return record;
    complain(record.error);
    return null;
  }

  function complain(problem) {
    at("problem").hidden = !problem;
    at("problem").textContent = problem || "";
  }

  function question() {
    const { cells, pinned, forbidden, feature } = state;
    const target = Number(at("wanted").value);
    return { cells: [...cells], own: state.row.cells, frozen: [...pinned], forbidden, question: state.question, target, feature };
  }

  /* Something was changed: one request at a time, and the last edit always gets one. */
  function changed() {
    seen.edition += 1;
    clearTimeout(seen.timer);
    clearTimeout(seen.idle);
    seen.timer = setTimeout(refresh, PAUSE);
    at("busy").textContent = "…";
    at("changes").setAttribute("aria-busy", "true");
    showControls();
    showRules(data.features, state, step);
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
    at("results").dataset.edition = String(seen.edition); // what is on the page answers this edit
    if (!answer || !answer.outputs) return;
    pair.refresh();
    const isNext = took < FAST || seen.isWanted;
    seen.isWanted = false;
    at("seek").hidden = isNext;
    if (isNext) seen.idle = setTimeout(seek, IDLE);
    if (isNext) at("changes-intro").textContent = "Searching …";
    else showFound(data.features, state.cells, NOTHING, actions);
  }

  async function seek() {
    const { edition } = seen;
    at("seek").hidden = true;
    at("changes-intro").textContent = "Searching …";
    const found = await ask("search", question());
    if (edition !== seen.edition) return;
    seen.sought = edition;
    if (found && found.problem) complain(found.problem);
    showFound(data.features, state.cells, found && found.counterfactuals ? found : NOTHING, actions);
    at("results").dataset.sought = String(edition);
  }

  /* ---- what is picked, edited and asked ---- */

  /* Rows of the server, by a part of their names, from one of those that were found on. */
  async function find(text, from) {
    const found = await ask("rows", { find: text, from });
    for (const row of found ? found.rows : []) known.set(row.at, row);
    return found;
  }

  function pick(row) {
    steps.before(snapshot());
    put({ ...snapshot(), row, cells: [...row.cells] });
  }

  /* The row that is so many rows further, one step at a time. */
  async function go(by) {
    const place = state.row.at + by;
    if (place < 0 || place >= data.n_rows || seen.isGoing) return;
    seen.isGoing = true;
    if (!known.has(place)) await find("", Math.max(0, by < 0 ? place - data.rows.length + 1 : place));
    seen.isGoing = false;
    if (known.has(place)) pick(known.get(place));
  }

  function snapshot() {
    return { row: state.row, cells: [...state.cells], pinned: new Set(state.pinned), forbidden: [...state.forbidden] };
  }

  /* Everything as it was, or is to be; none of it is shared with what steps keep. */
  function put({ row, cells, pinned, forbidden }) {
    const isOther = row.at !== state.row.at;
    if (isOther) seen.limit = 0;
    Object.assign(state, { row, cells: [...cells], pinned: new Set(pinned), forbidden: [...forbidden] });
    rows.show();
    at("previous").disabled = row.at === 0;
    at("next").disabled = row.at === data.n_rows - 1;
    if (isOther && at("ask").value === "class") aim();
    changed();
  }

  function showControls() {
    const own = state.row.cells;
    controls.show(state.cells, own, state.pinned);
    at("reset").disabled = state.cells.every((cell, key) => cell === own[key]);
    at("undo").disabled = !steps.canUndo;
    at("redo").disabled = !steps.canRedo;
    if (xcid.root.activeElement?.disabled) at("edit").focus({ preventScroll: true }); // a button that has nothing left to do
  }

  function listControls() {
    const fit = controls.filter(at("find").value, state.allControls ? Infinity : SHOWN_CONTROLS);
    showMore(at("more-controls"), fit, state.allControls, SHOWN_CONTROLS);
  }

  const controls = drawControls(at("controls"), data.features, {
    onEdit(key, cell) {
      steps.before(snapshot(), key);
      state.cells[key] = cell;
      if (state.feature !== key) look(key);
      changed();
    },
    onPin: pin,
    onLook: look,
  });

  /* ---- steps, and the search ---- */

  function undo() {
    const before = steps.undo(snapshot());
    if (before) put(before);
  }

  function redo() {
    const after = steps.redo(snapshot());
    if (after) put(after);
  }

  /* A step by a button beside counterfactuals: these are then searched for anew, even where the model is slow. */
  function step(changes) {
    steps.before(snapshot());
    seen.isWanted = true;
    put({ ...snapshot(), ...changes });
  }

  function pin(key, isPinned) {
    const others = [...state.pinned].filter((one) => one !== key);
    step({ pinned: isPinned ? [...others, key] : others });
  }

  const actions = {
    verb: () => (seen.answer && seen.answer.phrases ? seen.answer.phrases.verb : "flip"),
    isFresh: () => seen.sought === seen.edition,
    apply: (cells) => step({ cells }),
    pin: (key) => pin(key, true),
    forbid: (ban) => step({ forbidden: [...state.forbidden, ban] }),
    copy: copyCode,
  };

  /* The present step, and the changes of a counterfactual after it. */
  async function copyCode(button, lines) {
    const found = await ask("code", question());
    if (found) copyText(button, [found.code, ...lines, ...(lines.length ? ["changed = explainer(row)"] : []), ""].join("\n"));
  }

  /* ---- rows, files, and two rows side by side ---- */

  const present = () => ({ row: state.row.at, asked: question(), title: title(), answer: seen.answer ? seen.answer.answer : "" });
  const rows = drawRows({ find, pick, row: () => state.row });
  const pair = makeComparison({ ask, names, present });

  /* ---- questions ---- */

  const levelLine = makeLine(at("level"), "beside-level");
  at("level-box").append(levelLine.node);

  const QUESTIONS = {
    flip: data.classes.length > 2 ? "What leads to any other class?" : "What flips the class?",
    class: "What leads into or out of a class?",
    threshold: data.classes.length ? "What takes a probability across a level?" : "What takes the output across a level?",
    move: "What moves the output?",
    interval: "What moves the output by more than this?",
  };

  /* A class that the row is not in. */
  function aim() {
    const { outputs } = state.row;
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
    const part = ["level", "half_width"].find((name) => name in asked);
    if (part) {
      const { value, problem } = readNumber(at("level").value);
      const wrong = problem || (part === "half_width" && value <= 0 ? `${value} is not above 0` : "");
      levelLine.tell(wrong && `${wrong}; ${state.question[part] ?? asked[part]} still counts.`);
      made[part] = wrong ? state.question[part] ?? asked[part] : value;
    }
    state.question = made;
    seen.limit = 0;
  }

  /* ---- the answer ---- */

  function show(answer, isLast) {
    if (isLast || answer.row) seen.answer = answer;
    complain(answer.problem);
    showOutputs(answer);
    for (const id of ["scores", "evidence-section"]) at(id).hidden = !answer.row;
    at("changes-section").hidden = !answer.outputs;
    at("sentences").textContent = answer.row ? answer.row.sentences.join(" ") : "";
    at("question").textContent = answer.question || "";
    at("facts").textContent = answer.row ? facts(answer.row, answer.phrases) : "";
    showEffects(answer.row || {}, answer.row ? page() : {});
    if (!answer.row) return;
    if (!seen.hasOpened) state.feature = sorted(items(answer.row, page()), "size")[0].key; // the page opens on the strongest
    seen.hasOpened = true;
    showBars();
    showLegend(page(), Boolean(answer.row.p));
    showEvidence();
  }

  /* What the drawings of a row need to know beside it. */
  function page() {
    const { unit, signed, scale, phrases } = seen.answer;
    return { ...data, features: names, unit, signed, scale, phrases, hidden: false };
  }

  /* Whether the row on the page is not as it was, and what it is called. */
  const isChanged = () => state.cells.some((cell, key) => cell !== state.row.cells[key]);
  const title = () => `Row ${state.row.name}${isChanged() ? ", edited" : ""}`;

  function showOutputs({ answer, outputs }) {
    const { row } = state;
    const isEdited = isChanged();
    at("summary-title").textContent = title();
    at("answer").replaceChildren(...(answer ? ["The model predicts ", element("bdi", null, answer)] : ["No prediction"]));
    at("before").replaceChildren(...(isEdited ? [element("bdi", null, row.answer), " before the edits"] : []));
    const classes = data.classes.length ? outputs || [] : [];
    at("outputs").replaceChildren(...classes.map(([place, value], order) => output(data.classes[place], value, !order, isEdited ? row.outputs[place] : null)));
  }

  function showBars() {
    const found = sorted(items(seen.answer.row, page()), at("sort").value);
    const largest = Math.max(...found.map((item) => Math.abs(item.score || 0)));
    seen.limit = Math.max(seen.limit, limitOf(largest, seen.answer.scale)); // it does not shrink while one row is edited
    const hadFocus = at("bars").contains(xcid.root.activeElement);
    bars = xcid.showBars(found, page(), { limit: seen.limit, isAll: state.all, selected: state.feature, onSelect: look });
    if (hadFocus) at("bars").querySelector('[tabindex="0"]').focus();
  }

  function look(key) {
    if (key === state.feature) return;
    state.feature = key;
    if (!seen.answer || !seen.answer.row) return;
    if (bars) bars.select(key);
    showEvidence();
    if (!seen.answer.evidence[key]) changed(); // of many features only the strongest come with their pictures
  }

  function showEvidence() {
    const { row, evidence } = seen.answer;
    at("meaning").textContent = data.features[state.feature].meaning;
    xcid.showEvidence(items(row, page())[state.feature], evidence[state.feature], row, page(), "…");
  }

  /* ---- the beginning ---- */

  function fill() {
    at("title").textContent = data.title;
    at("notes").replaceChildren(...data.notes.map(note));
    at("row-count").textContent = `(${data.n_rows.toLocaleString("en")} in all)`;
    showWhatWould(data.what_would);
    at("find-box").hidden = data.features.length <= SHOWN;
    at("wanted").replaceChildren(...data.targets.map((words, place) => element("option", { value: place }, words)));
    at("wanted-box").hidden = data.targets.length < 2;
    at("ask").replaceChildren(...data.questions.map(({ kind }) => element("option", { value: kind }, QUESTIONS[kind])));
  }

  function listen() {
    at("choices").addEventListener("submit", (event) => event.preventDefault());
    at("previous").addEventListener("click", () => go(-1));
    at("next").addEventListener("click", () => go(1));
    at("compare").addEventListener("click", () => { pair.keep(); at("pair").focus({ preventScroll: true }); });
    drawSave((kind) => ask(kind, { row: state.row.at, asked: question() }));
    at("ask").addEventListener("change", () => { chooseQuestion(); changed(); });
    at("target").addEventListener("change", () => { readQuestion(); changed(); });
    at("level").addEventListener("input", () => { readQuestion(); changed(); });
    at("wanted").addEventListener("change", () => { seen.isWanted = true; changed(); });
    at("undo").addEventListener("click", undo);
    at("redo").addEventListener("click", redo);
    onStepKeys(undo, redo);
    at("reset").addEventListener("click", () => pick(state.row));
    at("copy").addEventListener("click", () => copyCode(at("copy"), []));
    at("find").addEventListener("input", listControls);
    at("more-controls").addEventListener("click", () => { state.allControls = !state.allControls; listControls(); });
    at("sort").addEventListener("change", showBars);
    at("more").addEventListener("click", () => { state.all = !state.all; showBars(); });
    at("seek").addEventListener("click", seek);
    for (const link of xcid.root.querySelectorAll('a[href^="#"]')) link.addEventListener("click", follow);
    onWidth(at("evidence"), () => {
      if (seen.answer && seen.answer.row) showEvidence();
    });
  }

  /* To a part of this page, whose address stays: in a notebook it is that of the notebook. */
  function follow(event) {
    event.preventDefault();
    const part = at(event.currentTarget.hash.slice(1));
    part.scrollIntoView();
    xcid.root.host?.scrollIntoView({ block: "nearest" });
    part.focus({ preventScroll: true });
  }

  fill();
  listen();
  listControls();
  chooseQuestion();
  put({ ...snapshot(), cells: state.row.cells });
  return data;
};
