"use strict";
/*
 * Two rows side by side: A, which was kept, and B, which is on the page.
 *
 * xcid.makeComparison({ask, names, present}): ask(name, body) asks the server; present() gives the row on the page: its place `row`,
 * what is `asked` about it, and its `title` and `answer`. Gives {keep(), refresh()}: A is the present row; look at B anew.
 */
(function (xcid) {
  const { element, svg, breakable, percent, fixed, at, count, decimals, items, limitOf, showMore } = xcid;
  const MOST = 8; // features before "show all"
  const SAME = "A and B are the same. Pick another row, or edit this one, to see it beside A.";

  function makeComparison({ ask, names, present }) {
    const seen = { first: null, turn: 0, answer: null, isAll: false };
    const isSame = (one, other) => one.row === other.row && one.asked.cells.every((cell, key) => cell === other.asked.cells[key]);

    function keep() {
      seen.first = present();
      seen.isAll = false;
      at("pair").hidden = at("to-pair").hidden = false;
      refresh();
    }

    function drop() {
      Object.assign(seen, { first: null, answer: null, turn: seen.turn + 1 });
      at("pair").hidden = at("to-pair").hidden = true;
      at("compare").focus();
    }

    /* A is asked what B is asked: the question and pins of now. */
    async function refresh() {
      const { first } = seen;
      if (!first) return;
      const second = present();
      const turn = ++seen.turn;
      if (isSame(first, second)) {
        seen.first = second;
        draw(second, second, { problem: SAME });
        return;
      }
      at("pair").setAttribute("aria-busy", "true");
      const asked = { ...second.asked, cells: first.asked.cells, own: first.asked.own };
      const answer = await ask("comparison", { first: { row: first.row, asked }, second: { row: second.row, asked: second.asked } });
      if (turn === seen.turn) draw(first, second, answer || { problem: "There is no comparison for this row." });
    }

    function draw(first, second, answer) {
      seen.answer = answer;
      at("pair").setAttribute("aria-busy", "false");
      const outputs = answer.rows ? answer.rows.map((row) => row.answer) : [first.answer, second.answer];
      at("to-pair").replaceChildren("A: ", element("bdi", null, first.title), " · ", element("bdi", null, outputs[0]));
      at("pair-rows").replaceChildren(...[first, second].map((one, place) => element("div", { class: "of-pair" },
        element("h3", null, element("b", { class: "who" }, "AB"[place]), " ", element("bdi", null, one.title)),
        element("p", null, element("bdi", null, outputs[place])))));
      at("pair-said").replaceChildren(...(answer.problem ? [answer.problem] : answer.sentences).map((text) => element("li", null, text)));
      at("pair-unit").textContent = answer.problem ? "" : `Beside each bar: the contribution, in ${answer.phrases.unit.replace("the predicted class", () => answer.about)}, and the importance. The largest differences come first; those with ~ are not significant.`;
      drawFeatures();
    }

    function drawFeatures() {
      const { answer } = seen;
      at("pair-more").hidden = true;
      at("pair-features").replaceChildren();
      if (!answer || answer.problem) return;
      const page = { features: names, unit: answer.unit };
      const [ours, theirs] = answer.rows.map((row) => items(row, page));
      const size = (item) => Math.abs(item.score || 0);
      const limit = limitOf(Math.max(...[...ours, ...theirs].map(size)), answer.scale);
      const order = names.map((_, key) => key).sort((one, other) => Math.abs(answer.differences[other]) - Math.abs(answer.differences[one]) || one - other);
      showMore(at("pair-more"), order.length, seen.isAll, MOST);
      const shown = seen.isAll ? order : order.slice(0, MOST);
      at("pair-features").replaceChildren(...shown.map((key) => feature(key, [ours[key], theirs[key]], limit, answer)));
    }

    at("pair-more").addEventListener("click", () => { seen.isAll = !seen.isAll; drawFeatures(); });
    at("pair-drop").addEventListener("click", drop);
    return { keep, refresh };
  }

  function feature(key, pair, limit, answer) {
    const digits = decimals(answer.unit);
    const isSure = answer.significant.includes(key);
    const gap = `${isSure ? "" : "~ "}${fixed(answer.differences[key] * answer.unit, digits, true)}`;
    const value = answer.others.includes(key) ? null : element("span", { class: "quiet" }, "same value");
    return element("li", { class: "pair-feature" },
      element("div", { class: "pair-head" }, element("bdi", null, ...breakable(pair[0].name)), value, element("span", { class: isSure ? "gap" : "gap quiet" }, `B − A: ${gap}`)),
      ...pair.map((item, place) => side("AB"[place], item, limit, digits)));
  }

  /* One of the two: its value, a bar, its contribution and its importance. */
  function side(name, item, limit, digits) {
    const share = (score) => (1 + Math.max(-limit, Math.min(limit, score)) / limit) / 2;
    const end = share(item.score || 0);
    const bar = svg("svg", { "aria-hidden": "true" },
      svg("rect", { class: `body ${item.score < 0 ? "opposes" : "supports"}${item.faint ? " faint" : ""}`, x: percent(Math.min(0.5, end)), width: percent(Math.abs(end - 0.5)), y: "15%", height: "70%", rx: 2 }),
      svg("line", { class: "zero", x1: "50%", x2: "50%", y1: 0, y2: "100%" }));
    const score = `${item.faint ? "~ " : ""}${fixed(item.score, digits, true)}`;
    return element("div", { class: "side" }, element("b", { class: "who" }, name), element("bdi", { class: "cell" }, item.cell), bar,
      element("span", { class: item.faint ? "score quiet" : "score" }, element("span", { class: "unseen" }, "contribution "), score),
      element("span", { class: "score" }, element("span", { class: "unseen" }, "importance "), item.d1 === null ? "–" : fixed(item.d1, 2)));
  }

  xcid.makeComparison = makeComparison;
})((globalThis.xcid = globalThis.xcid || {}));
