/*
 * The explorer in a cell of a notebook, as anywidget asks for it: requests and answers are messages, and the page is in a shadow
 * root. STYLE, FRAME and load(scope), all scripts of the page with a scope of their own, stand above this in one module.
 */
const PATIENCE = 5000; // milliseconds until the kernel is said to be silent
const SILENT = "The kernel does not answer: it is busy with another cell, or it was shut down. After a restart, run the cell again.";
const CLOSED = "The kernel that answered this page is gone: run the cell again.";

/* Messages of many pages may share a line, so each request has a number that no other has. */
function connect(model) {
  const waiting = new Map();

  function send(name, body, complain) {
    const id = Math.floor(Math.random() * Number.MAX_SAFE_INTEGER);
    return new Promise((resolve, reject) => {
      let isSilent = false;
      const timer = setTimeout(() => { isSilent = true; complain(SILENT); }, PATIENCE);
      const end = (give) => (found) => {
        clearTimeout(timer);
        waiting.delete(id);
        if (isSilent) complain();
        give(found);
      };
      waiting.set(id, { resolve: end(resolve), reject: end(reject) });
      try {
        model.send({ id, name, body: body ? JSON.stringify(body) : "" });
      } catch {
        waiting.get(id).reject(new Error(CLOSED));
      }
    });
  }

  function receive(message) {
    const one = message && waiting.get(message.id);
    if (one) one.resolve(JSON.parse(message.record));
  }

  function close() {
    for (const one of [...waiting.values()]) one.reject(new Error(CLOSED));
  }

  model.on("msg:custom", receive);
  model.on("comm:close", close);
  return [send, () => { model.off("msg:custom", receive); model.off("comm:close", close); }];
}

/* Whether what is painted behind a node is dark: a notebook has a theme of its own, whatever the system prefers. */
function isDark(node) {
  const pen = document.createElement("canvas").getContext("2d");
  const behind = ["white"];
  for (let one = node; one; one = one.parentElement || one.getRootNode().host) behind.splice(1, 0, getComputedStyle(one).backgroundColor);
  for (const colour of behind) {
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
  }
  const [red, green, blue] = pen.getImageData(0, 0, 1, 1).data;
  return 0.3 * red + 0.59 * green + 0.11 * blue < 128;
}

/* Keep a page in the colours of the notebook; gives what ends that. */
function followTheme(host, sheet) {
  const dark = [...sheet.cssRules].filter((rule) => rule.media && rule.media.mediaText.includes("dark"));
  const paint = () => {
    const found = isDark(host);
    host.style.colorScheme = found ? "dark" : "light";
    for (const rule of dark) rule.media.mediaText = found ? "all" : "not all";
  };
  const [shown, themes] = [new ResizeObserver(paint), new MutationObserver(paint)];
  shown.observe(host);
  for (const node of [document.documentElement, document.body]) themes.observe(node, { attributes: true });
  return () => { shown.disconnect(); themes.disconnect(); };
}

function render({ model, el }) {
  const host = document.createElement("div");
  host.dataset.lmSuppressShortcuts = "true"; // or JupyterLab would take letters that are typed for commands about cells
  host.addEventListener("keydown", (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey || event.defaultPrevented) event.stopPropagation(); // and so would others
  });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  const root = host.attachShadow({ mode: "open" });
  root.adoptedStyleSheets = [sheet];
  root.append(new DOMParser().parseFromString(FRAME, "text/html").body);
  el.append(host);
  const [send, disconnect] = connect(model);
  const forget = followTheme(host, sheet);
  load({ xcid: { root } }).explore(send);
  return () => { disconnect(); forget(); };
}

export default { render };
