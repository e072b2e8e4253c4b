"use strict";
/*
 * xcid.drawSave(save): a menu of files; save(kind) gives a file {name, type, text} of the server, or null after a problem.
 */
(function (xcid) {
  const { element, at } = xcid;
  const KEPT = 10000; // milliseconds that the browser has to take it over

  function drawSave(save) {
    const menu = at("save");
    for (const button of menu.querySelectorAll("button")) {
      button.addEventListener("click", async () => {
        menu.open = false;
        menu.querySelector("summary").focus();
        const file = await save(button.value);
        if (file) hand(file);
      });
    }
    menu.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      menu.open = false;
      menu.querySelector("summary").focus();
    });
    document.addEventListener("click", (event) => {
      if (!event.composedPath().includes(menu)) menu.open = false; // the target itself is hidden by a shadow root
    });
  }

  function hand({ name, type, text }) {
    const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
    element("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), KEPT);
    at("said").textContent = `${name} is saved.`;
  }

  xcid.drawSave = drawSave;
})((globalThis.xcid = globalThis.xcid || {}));
