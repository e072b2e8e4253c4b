"use strict";
/* xcid.copyText(button, text): into the clipboard, which the button then says; or, where that is refused, selected in a box. */
(function (xcid) {
  const { at } = xcid;
  const SHOWN = 2000; // milliseconds that a button says it

  async function copyText(button, text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      show(text);
      return;
    }
    const words = button.dataset.words || button.textContent;
    button.dataset.words = words;
    button.textContent = "Copied ✓";
    button.classList.add("copied");
    at("said").textContent = "The code is copied.";
    setTimeout(() => {
      button.textContent = words;
      button.classList.remove("copied");
      at("said").textContent = "";
    }, SHOWN);
  }

  function show(text) {
    at("code").value = text;
    at("code-box").showModal();
    at("code").focus();
    at("code").select();
  }

  xcid.copyText = copyText;
})((globalThis.xcid = globalThis.xcid || {}));
