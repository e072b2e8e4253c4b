"use strict";
/*
 * xcid.drawBars(container, data, options): scores as a list of bars that can be chosen by mouse and keyboard.
 *
 * data     {signed, phrases, limit, decimals, items}; the axis goes to `limit`. An item has {key, name, cell, score, worth,
 *          lower, upper, p, faint, fixed, d1, alone}; worth may be empty; lower, upper, p, fixed, d1, alone may be null.
 * options  {selected, onSelect(key), label}
 * Gives {select(key)}, which marks another bar without a new drawing.
 */
(function (xcid) {
  const { element, svg, breakable, percent, whole, fixed, plain, ticks } = xcid;
  const [LETTER, GAP] = [7.5, 8]; // pixels of a letter under the axis, and between numbers

  function drawBars(container, data, options) {
    const share = (score) => {
      const inside = Math.max(-data.limit, Math.min(data.limit, score)) / data.limit;
      return data.signed ? (1 + inside) / 2 : Math.max(0, inside);
    };
    const rows = data.items.map((item) => bar(item, data, share));
    const list = element("div", { class: "bars", role: "listbox", "aria-label": options.label || "Scores" }, ...rows);
    const keys = data.items.map((item) => item.key);

    function select(key) {
      const at = keys.indexOf(key);
      rows.forEach((row, index) => {
        row.setAttribute("aria-selected", String(index === at));
        row.tabIndex = index === Math.max(0, at) ? 0 : -1;
      });
    }

    function choose(at) {
      if (at < 0 || at >= rows.length) return;
      select(keys[at]);
      rows[at].focus();
      options.onSelect(keys[at]);
    }

    list.addEventListener("click", (event) => choose(rows.indexOf(event.target.closest(".bar"))));
    list.addEventListener("keydown", (event) => {
      const at = rows.indexOf(event.target.closest(".bar"));
      const moves = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1, Enter: at, " ": at };
      if (at < 0 || !Object.hasOwn(moves, event.key)) return;
      event.preventDefault();
      choose(moves[event.key]);
    });
    select(options.selected);
    container.classList.add("bar-grid");
    const [hasD1, hasAlone] = ["d1", "alone"].map((part) => data.signed && data.items.some((item) => item[part] !== null));
    container.classList.toggle("has-d1", hasD1);
    container.classList.toggle("has-alone", hasAlone);
    const [below, drawAxis] = axis(data, share);
    container.replaceChildren(...(hasD1 ? [heads(hasAlone)] : []), list, below);
    drawAxis();
    return { select };
  }

  /* The names of columns, for those who see them; a bar says all of itself. */
  function heads(hasAlone) {
    const names = ["contribution", "importance", ...(hasAlone ? ["alone"] : [])];
    return element("div", { class: "bar-heads", "aria-hidden": "true" }, ...names.map((name) => element("span", null, name)));
  }

  function bar(item, data, share) {
    const side = !data.signed ? "plain" : item.score < 0 ? "opposes" : "supports";
    const faint = item.faint ? " faint" : "";
    const [zero, end] = [share(0), share(item.score)];
    const track = svg("svg", { "aria-hidden": "true" });
    track.append(
      svg("line", { class: "grid-line", x1: 0, x2: "100%", y1: "50%", y2: "50%" }),
      svg("rect", { class: `body ${side}${faint}`, x: percent(Math.min(zero, end)), width: percent(Math.abs(end - zero)), y: "18%", height: "64%", rx: 2 }),
    );
    const isNothing = item.fixed && item.score === 0;
    if (item.lower !== null && item.upper !== null && !isNothing) {
      const [low, high] = [percent(share(item.lower)), percent(share(item.upper))];
      const mark = { class: `limits${faint}` };
      track.append(
        svg("line", { ...mark, x1: low, x2: high, y1: "50%", y2: "50%" }),
        svg("line", { ...mark, x1: low, x2: low, y1: "34%", y2: "66%" }),
        svg("line", { ...mark, x1: high, x2: high, y1: "34%", y2: "66%" }),
      );
    }
    track.append(svg("line", { class: "zero", x1: percent(zero), x2: percent(zero), y1: 0, y2: "100%" }));
    const score = fixed(item.score, data.decimals, data.signed);
    const shown = isNothing ? item.fixed : (item.faint ? "~ " : "") + score;
    const name = element("span", { class: "name" }, element("bdi", { title: item.name }, ...breakable(item.name)), " ");
    name.append(element("span", { class: "cell" }, element("bdi", null, item.cell)));
    const state = isNothing ? " fixed" : faint;
    const hangs = data.signed ? [["hangs d1", item.d1, () => fixed(item.d1, 2)], ["hangs alone", item.alone, () => whole(item.alone)]] : [];
    return element(
      "div",
      { class: "bar", role: "option", "aria-label": said(item, data, score) },
      name, track, element("span", { class: `score${state}` }, shown, item.worth ? worth(item.worth) : null),
      ...hangs.map(([name, value, write]) => element("span", { class: name }, value === null ? "" : write())),
    );
  }

  /* What a value is worth; its limits go to a line of their own where there is no room. */
  function worth(text) {
    const [value, ...limits] = text.split(/ (?=\()/);
    return element("span", { class: "worth" }, element("span", null, value), ...limits.flatMap((part) => [" ", element("span", null, part)]));
  }

  /* A bar in words, for those who hear the page. */
  function said(item, data, score) {
    const isNothing = item.fixed && item.score === 0;
    const parts = [`${item.name}: ${item.cell}`, isNothing ? item.fixed : `${data.signed ? "contribution" : "score"} ${score}`];
    if (isNothing) return parts.join(", ");
    if (item.worth) parts.push(item.worth);
    if (item.lower !== null && item.upper !== null) {
      parts.push(`limits ${fixed(item.lower, data.decimals, data.signed)} to ${fixed(item.upper, data.decimals, data.signed)}`);
    }
    const { supports, opposes, not_significant: notSignificant } = data.phrases;
    if (item.faint) parts.push(notSignificant);
    else if (data.signed && item.score !== 0) parts.push(item.score > 0 ? supports : opposes);
    if (data.signed && item.d1 !== null) parts.push(`importance ${fixed(item.d1, 2)}`);
    if (data.signed && item.alone !== null) parts.push(`alone ${whole(item.alone)}`);
    return parts.join(", ");
  }

  /* The axis, and what draws it, which it does again when it has another width. */
  function axis(data, share) {
    const drawn = svg("svg", { "aria-hidden": "true" });
    const draw = () => drawn.replaceChildren(...fitting(data, drawn.getBoundingClientRect().width).flatMap((tick) => {
      const [x, side] = [percent(share(tick)), share(tick) > 0.95 ? "end" : share(tick) < 0.05 && data.signed ? "start" : "middle"];
      return [svg("line", { class: "zero", x1: x, x2: x, y1: 0, y2: 4 }), svg("text", { x, y: 18, "text-anchor": side }, plain(tick))];
    }));
    new ResizeObserver(draw).observe(drawn);
    return [element("div", { class: "bar-axis" }, drawn), draw];
  }

  /* As many round numbers as have room beside each other. */
  function fitting(data, width) {
    const low = data.signed ? -data.limit : 0;
    const choices = [6, 5, 4, 3, 2].map((count) => ticks(low, data.limit, count));
    const room = (found) => found.length * (LETTER * Math.max(...found.map((tick) => plain(tick).length)) + GAP);
    return choices.find((found) => found.length > 1 && room(found) <= width) || [0, data.limit];
  }

  xcid.drawBars = drawBars;
})((globalThis.xcid = globalThis.xcid || {}));
