"use strict";
/*
 * xcid.drawRows({find, pick, row}): a field to pick one of any number of rows by a part of its name, or by its number.
 *
 * find(text, from)  {rows, total} of the server, the rows that were found from a number on; or null after a problem
 * pick(row)         a row was picked
 * row()             the row that is shown: {at, name}
 * Gives {show()}, which writes the name of that row.
 */
(function (xcid) {
  const { element, at, count } = xcid;
  const PAUSE = 80; // milliseconds that letters are gathered
  const AHEAD = 20; // rows at a time, as many as the server gives

  function drawRows({ find, pick, row }) {
    const [field, list] = [at("row"), at("row-list")];
    const seen = { turn: 0, timer: 0, from: 0, text: "", rows: [], total: 0, active: -1 };
    const isOpen = () => !at("row-box").hidden;

    /* Ask for rows; `active` is the one that is marked then, -1 the last. Whether the answer is the newest. */
    async function seek(text, from, active) {
      clearTimeout(seen.timer);
      seen.timer = 0;
      const turn = ++seen.turn;
      const found = await find(text, from);
      if (!found || turn !== seen.turn) return false;
      Object.assign(seen, { text, from, rows: found.rows, total: found.total });
      draw();
      mark(active < 0 ? found.rows.length - 1 : active);
      return true;
    }

    function draw() {
      list.replaceChildren(...seen.rows.map((one, order) => {
        const number = String(one.at) === one.name ? null : element("span", { class: "quiet" }, `number ${one.at}`);
        const node = element("li", { role: "option", id: `row-option-${order}`, "aria-selected": "false" }, element("bdi", null, one.name), element("span", { class: "quiet" }, element("bdi", null, one.answer)), number);
        node.addEventListener("mousedown", (event) => event.preventDefault()); // the field keeps the focus
        node.addEventListener("click", () => choose(order));
        return node;
      }));
      const last = seen.from + seen.rows.length;
      const some = seen.rows.length < seen.total ? `${seen.from + 1} to ${last} of ${count(seen.total, "row")}${seen.text.trim() ? "" : ": type part of a name, or a number"}` : "";
      at("row-said").textContent = seen.rows.length ? some : "No row has this in its name, or this number.";
      at("row-box").hidden = false;
      field.setAttribute("aria-expanded", "true");
    }

    function mark(order) {
      seen.active = order;
      [...list.children].forEach((node, key) => node.setAttribute("aria-selected", String(key === order)));
      if (!list.children[order]) {
        field.removeAttribute("aria-activedescendant");
        return;
      }
      field.setAttribute("aria-activedescendant", `row-option-${order}`);
      list.children[order].scrollIntoView({ block: "nearest" });
    }

    function move(by) {
      const [to, end] = [seen.active + by, seen.from + seen.rows.length];
      if (to >= 0 && to < seen.rows.length) mark(to);
      else if (by > 0 && end < seen.total) seek(seen.text, end, 0);
      else if (by < 0 && seen.from > 0) seek(seen.text, Math.max(0, seen.from - AHEAD), Math.min(AHEAD, seen.from) - 1);
    }

    function choose(order) {
      const chosen = seen.rows[order];
      if (!chosen) return;
      close();
      pick(chosen);
    }

    function close() {
      clearTimeout(seen.timer);
      Object.assign(seen, { timer: 0, turn: seen.turn + 1, rows: [], active: -1 });
      at("row-box").hidden = true;
      field.setAttribute("aria-expanded", "false");
      field.removeAttribute("aria-activedescendant");
      field.value = row().name;
    }

    const open = () => seek("", row().at, 0);

    field.addEventListener("input", () => {
      clearTimeout(seen.timer);
      seen.timer = setTimeout(() => seek(field.value, 0, 0), PAUSE);
    });
    field.addEventListener("focus", () => field.select());
    field.addEventListener("click", () => isOpen() || open());
    field.addEventListener("blur", close);
    field.addEventListener("keydown", async (event) => {
      const moves = { ArrowDown: 1, ArrowUp: -1 };
      if (event.key in moves) {
        event.preventDefault();
        if (isOpen()) move(moves[event.key]);
        else open();
      } else if (event.key === "Enter") {
        event.preventDefault();
        if (seen.timer && !(await seek(field.value, 0, 0))) return; // letters that were not looked for yet
        choose(seen.active);
      } else if (event.key === "Escape") {
        close();
        field.select();
      }
    });
    return {
      show() {
        if (!isOpen()) field.value = row().name;
      },
    };
  }

  xcid.drawRows = drawRows;
})((globalThis.xcid = globalThis.xcid || {}));
