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

  /* From here to probability: numbers by the rules of xcid/_numbers.py, so that a page and a text show one number. */
  const GROUPED = 1e4, LEAST = 1e-4, MOST = 1e15, MOST_CENTS = 1e13, FINEST = 4;

  function roundHalfUp(value, decimals) {
    const scale = 10 ** decimals;
    return Math.sign(value) * Math.floor(Math.abs(value) * scale + 0.5) / scale;
  }

  const isNumber = (value) => value !== null && Number.isFinite(value);

  /* A number with so many digits, or all digits of its whole part, and the cents of one that has no others. */
  function plain(value, digits = 4) {
    if (!isNumber(value)) return "–";
    const size = Math.abs(value);
    if (size && !(size >= LEAST && size < MOST)) return short(value, digits);
    const text = fixed(value, countDecimals(size, digits));
    if (!text.includes(".")) return text;
    return text.includes(",") ? text.replace(/\.00$/, "") : text.replace(/\.?0+$/, "");
  }

  function countDecimals(size, digits) {
    if (size < MOST_CENTS && roundHalfUp(size, 2) === size) return 2;
    const exponent = Number(size.toExponential(digits - 1).split("e")[1]);
    const decimals = Math.max(0, digits - 1 - exponent);
    return decimals && 10 ** exponent >= GROUPED ? 2 : decimals;
  }

  function short(value, digits) {
    const rounded = Number(value.toPrecision(digits)), size = Math.abs(rounded);
    const text = size >= LEAST && size < MOST ? String(rounded) : rounded.toExponential().replace(/(e[+-])(\d)$/, "$10$2");
    return text.replaceAll("-", "−");
  }

  function fixed(value, decimals, isSigned) {
    if (!isNumber(value)) return "–";
    if (Math.abs(value) >= MOST) return (isSigned && value > 0 ? "+" : "") + short(value, 4);
    const digits = Math.abs(value) < MOST_CENTS ? decimals : 0, size = roundHalfUp(Math.abs(value), digits);
    const [whole, ...part] = size.toFixed(digits).split(".");
    const grouped = size < GROUPED ? whole : whole.replace(/\B(?=(\d{3})+$)/g, ",");
    return (size === 0 ? "" : value < 0 ? "−" : isSigned ? "+" : "") + [grouped, ...part].join(".");
  }

  /* A probability on its side of one half, which is no 0 or 1 unless it is exactly that. */
  function probability(value, decimals = 2) {
    if (value === 0.5 || !(value > 0 && value < 1)) return fixed(value, decimals);
    const finest = Math.max(decimals, FINEST);
    for (let each = decimals; each <= finest; each++) {
      const rounded = roundHalfUp(value, each);
      if (rounded > 0 && rounded < 1 && rounded !== 0.5 && rounded > 0.5 === value > 0.5) return fixed(rounded, each);
    }
    const step = 10 ** -finest, side = value > 0.5 ? "over" : "under";
    if (Math.abs(value - 0.5) < step) return `${side} 0.5`;
    return `${side} ${(value > 0.5 ? 1 - step : step).toFixed(finest)}`;
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

  Object.assign(xcid, { element, svg, breakable, percent, whole, plain, fixed, probability, place, ticks, roundUp, legend });
})((globalThis.xcid = globalThis.xcid || {}));
