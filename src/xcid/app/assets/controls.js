"use strict";
/*
 * xcid.drawControls(container, features, options): a slider, a field or a list for each feature.
 *
 * features  as xcid.app.describe gives them: kind "number" {low, high, step, unit} or "levels" {levels}; name, meaning, missing
 * options   {onEdit(key, cell), onPin(key, isPinned), onLook(key)}; a cell is a number, a place of a level, or null
 * Gives {show(cells, own, pinned), filter(text, most) -> how many fit}.
 */
(function (xcid) {
  const { element, breakable, plain, place, readNumber, makeLine, noteRange } = xcid;
  const DAY = 86400000;

  function drawControls(container, features, options) {
    const all = features.map((feature, key) => control(feature, key, options));
    container.replaceChildren(...all.map((one) => one.node));
    return {
      show(cells, own, pinned) {
        all.forEach((one, key) => one.show(cells[key], own[key], pinned.has(key)));
      },
      filter(text, most) {
        const sought = text.trim().toLowerCase();
        const fits = features.map((feature) => feature.name.toLowerCase().includes(sought));
        let shown = 0;
        all.forEach((one, key) => {
          one.node.hidden = !fits[key] || ++shown > most;
        });
        return fits.filter(Boolean).length;
      },
    };
  }

  function control(feature, key, options) {
    const edit = (cell) => options.onEdit(key, cell);
    const editor = feature.kind === "levels" ? levels(feature, edit) : number(feature, key, edit);
    const pin = element("input", { type: "checkbox", "aria-label": `Pin ${feature.name}` });
    pin.addEventListener("change", () => options.onPin(key, pin.checked));
    const name = element("button", { type: "button", class: "name", title: feature.meaning || feature.name }, element("bdi", null, ...breakable(feature.name)));
    name.addEventListener("click", () => options.onLook(key));
    const was = element("button", { type: "button", class: "was" });
    let own = null;
    was.addEventListener("click", () => edit(own));
    const node = element("div", { class: "control", role: "group", "aria-label": feature.name },
      element("div", { class: "head" }, name, was, element("label", { class: "pin" }, pin, "pin")),
      element("div", { class: "edit" }, ...editor.nodes), editor.line);
    node.addEventListener("focusin", (event) => {
      if (event.target !== name && event.target !== was) options.onLook(key);
    });
    const show = (cell, ownCell, isPinned) => {
      own = ownCell;
      const isChanged = cell !== ownCell;
      node.classList.toggle("changed", isChanged);
      node.classList.toggle("pinned", isPinned);
      pin.checked = isPinned;
      was.hidden = !isChanged;
      const value = said(feature, ownCell);
      was.replaceChildren("was ", element("bdi", null, value), " ↺");
      was.setAttribute("aria-label", `Put ${feature.name} back to ${value}`);
      editor.show(cell);
    };
    return { node, show };
  }

  function said(feature, cell) {
    if (cell === null) return "missing";
    return feature.kind === "levels" ? feature.levels[cell] : feature.unit ? place(cell, feature.unit) : plain(cell, 6);
  }

  /* A list; the last entry stands for a missing cell. */
  function levels(feature, edit) {
    const names = feature.missing ? [...feature.levels, "missing"] : feature.levels;
    const list = element("select", { "aria-label": feature.name }, ...names.map((name, at) => element("option", { value: at }, name)));
    list.addEventListener("change", () => {
      const at = Number(list.value);
      edit(at < feature.levels.length ? at : null);
    });
    return {
      nodes: [list],
      show(cell) {
        list.value = String(cell === null ? feature.levels.length : cell);
      },
    };
  }

  /* A slider and a field, and a box for a missing cell. */
  function number(feature, key, edit) {
    const slider = element("input", { type: "range", min: feature.low, max: feature.high, step: feature.step, "aria-label": feature.name });
    const field = exact(feature);
    const line = makeLine(field.node, `beside-${key}`);
    let last = null;
    slider.addEventListener("input", () => edit(Number(slider.value)));
    field.node.addEventListener("input", () => {
      const { value, problem } = field.read();
      if (problem) line.tell(`${problem}; ${said(feature, last)} still counts.`);
      else edit(value);
    });
    field.node.addEventListener("change", () => {
      if (!field.read().problem) field.write(last);
    });
    const missing = feature.missing ? element("input", { type: "checkbox", "aria-label": `${feature.name} is missing` }) : null;
    if (missing) missing.addEventListener("change", () => edit(missing.checked ? null : Number(slider.value)));
    return {
      nodes: [slider, field.node, missing && element("label", { class: "missing" }, missing, "missing")],
      line: line.node,
      show(cell) {
        last = cell;
        if (missing) missing.checked = cell === null;
        slider.disabled = field.node.disabled = cell === null;
        if (cell !== null && Number(slider.value) !== cell) slider.value = String(cell);
        slider.setAttribute("aria-valuetext", said(feature, cell));
        if (cell === null) field.node.value = "";
        else if (field.read().value !== cell) field.write(cell);
        line.tell("", noteRange(feature, cell));
      },
    };
  }

  /* A field for a number or a date: {node, read() -> {value} or {problem}, write}. */
  function exact(feature) {
    const label = { class: "exact", autocomplete: "off", "aria-label": `${feature.name}, exactly` };
    if (!feature.unit) {
      const keys = feature.low < 0 ? null : "decimal"; // small keyboards of decimals have no minus
      const node = element("input", { type: "text", inputmode: keys, ...label });
      return { node, read: () => readNumber(node.value, feature.whole), write: (value) => { node.value = String(value); } };
    }
    const isDay = feature.unit === "D";
    const node = element("input", { type: isDay ? "date" : "datetime-local", step: isDay ? null : 1, ...label });
    const scale = isDay ? DAY : 1000;
    const read = () => (Number.isFinite(node.valueAsNumber) ? { value: node.valueAsNumber / scale } : { problem: node.validity.badInput ? "No whole date" : "Empty" });
    return { node, read, write: (value) => { node.valueAsNumber = Math.round(value) * scale; } };
  }

  Object.assign(xcid, { drawControls, said });
})((globalThis.xcid = globalThis.xcid || {}));
