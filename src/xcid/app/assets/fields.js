"use strict";
/*
 * What people type as a number, and what a field says beside itself.
 *
 * xcid.readNumber(text, whole)  {value}, or {problem} in words: what is not a number, could be two, or is none of the `whole` that are wanted
 * xcid.makeLine(field, id)      {node, tell(problem, note)}: a line for beside the field; with a problem the field is invalid
 * xcid.noteRange(feature, cell) what to know of a cell that the reference data do not reach, or ""
 */
(function (xcid) {
  const { element, place } = xcid;
  const PLAIN = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
  const DECIMAL_COMMA = /^[+-]?(\d+|\d{1,3}(\.\d{3})+)?,\d+$/;
  const GROUPED = /^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$/;
  const GROUPED_BY_POINTS = /^[+-]?[1-9]\d{0,2}(\.\d{3}){2,}$/;
  const GAPS = /(?<=\d)[\s'’](?=\d{3}(?!\d))/g; // between thousands

  function readNumber(typed, whole) {
    const text = typed.trim().replaceAll("−", "-").replace(GAPS, "");
    if (!text) return { problem: "Empty" };
    const readings = [];
    if (PLAIN.test(text)) readings.push(text);
    if (DECIMAL_COMMA.test(text)) readings.push(text.replaceAll(".", "").replace(",", "."));
    if (GROUPED.test(text)) readings.push(text.replaceAll(",", ""));
    if (GROUPED_BY_POINTS.test(text)) readings.push(text.replaceAll(".", ""));
    const [value, other] = readings.map(Number);
    if (other !== undefined) return { problem: `“${typed.trim()}” can be ${value} or ${other}: write one of these` };
    if (!Number.isFinite(value)) return { problem: `“${typed.trim()}” is not a number` };
    return whole && !Number.isInteger(value) ? { problem: `${value} is no whole number` } : { value };
  }

  function makeLine(field, id) {
    const node = element("p", { class: "beside", id, "aria-live": "polite" });
    field.setAttribute("aria-describedby", id);
    return {
      node,
      tell(problem, note = "") {
        field.setAttribute("aria-invalid", String(Boolean(problem)));
        node.classList.toggle("wrong", Boolean(problem));
        if (node.textContent !== (problem || note)) node.textContent = problem || note;
      },
    };
  }

  function noteRange({ usual, unit }, cell) {
    if (cell === null || (cell >= usual[0] && cell <= usual[1])) return "";
    return `Outside the reference data (${place(usual[0], unit)} to ${place(usual[1], unit)}); it still counts.`;
  }

  Object.assign(xcid, { readNumber, makeLine, noteRange });
})((globalThis.xcid = globalThis.xcid || {}));
