"use strict";
/* Small tools. Text from data gets into the document as text only: by textContent, never as markup. */
(function (xcid) {
  const SVG = "http://www.w3.org/2000/svg"; // a name, not an address that is asked

  function filled(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : String(value));
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }

  /* An element with attributes and children; a child that is a string becomes a text node. */
  function element(name, attributes, ...children) {
    return filled(document.createElement(name), attributes, children);
  }

  function svg(name, attributes, ...children) {
    return filled(document.createElementNS(SVG, name), attributes, children);
  }

  /* A name that may be broken after its underscores and before its capitals. */
  function breakable(name) {
    return name.split(/(?<=_)(?!_)|(?<=[a-z])(?=[A-Z])/).flatMap((part, at) => (at ? [element("wbr"), part] : [part]));
  }

  function percent(share) {
    return (100 * share).toFixed(2) + "%";
  }

  function whole(share) {
    return `${roundHalfUp(100 * share, 0)}%`;
  }

  /* As xcid._check.round_half_up has it, so that a page and a text show one number. */
  function roundHalfUp(value, decimals) {
    const scale = 10 ** decimals;
    return Math.sign(value) * Math.floor(Math.abs(value) * scale + 0.5) / scale;
  }

  /* A number with four digits, or all digits of its whole part: as xcid.wording.number has it. */
  function plain(value) {
    if (value === null || !Number.isFinite(value)) return "–";
    const size = Math.abs(value);
    if (size >= 1e4 && size < 1e9) return value.toLocaleString("en", { maximumFractionDigits: 0 }).replace("-", "−");
    const short = Number(value.toPrecision(4));
    return (size !== 0 && (size < 1e-4 || size >= 1e9) ? short.toExponential() : String(short)).replaceAll("-", "−");
  }

  function fixed(value, decimals, signed) {
    if (value === null || !Number.isFinite(value)) return "–";
    const text = roundHalfUp(Math.abs(value), decimals).toFixed(decimals);
    const isZero = Number(text) === 0;
    return (value < 0 && !isZero ? "−" : signed && !isZero ? "+" : "") + text;
  }

  /* A place on an axis: a number, or a date that is counted in days or seconds from 1970. */
  function place(value, unit) {
    if (!unit) return plain(value);
    const date = new Date(unit === "D" ? Math.round(value) * 86400000 : Math.round(value) * 1000);
    if (Number.isNaN(date.getTime())) return plain(value);
    return unit === "D" ? date.toISOString().slice(0, 10) : date.toISOString().slice(0, 16).replace("T", " ");
  }

  /* About `count` round numbers from low to high. */
  function ticks(low, high, count) {
    const raw = (high - low) / Math.max(1, count);
    if (!(raw > 0) || !Number.isFinite(raw)) return [low];
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((part) => part * power).find((one) => one >= raw * 0.999);
    const found = [];
    for (let at = Math.ceil(low / step); at * step <= high && found.length < 50; at++) found.push(at * step);
    return found;
  }

  /* The smallest round number that is not below a size. */
  function roundUp(size) {
    if (!(size > 0)) return 1;
    const power = 10 ** Math.floor(Math.log10(size));
    return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((part) => part * power).find((one) => one >= size * 0.9999);
  }

  function legend(...keys) {
    const list = element("div", { class: "legend" });
    for (const [className, text] of keys) {
      const swatch = svg("svg", { "aria-hidden": "true" }, svg("rect", { class: className, width: "100%", height: "100%", rx: 2 }));
      list.append(element("span", { class: "key" }, swatch, text));
    }
    return list;
  }

  Object.assign(xcid, { element, svg, breakable, percent, whole, plain, fixed, place, ticks, roundUp, legend });
})((globalThis.xcid = globalThis.xcid || {}));
