"use strict";
/* The explorer as a page of its own: the server that it came from answers it. */
(function (xcid) {
  async function send(name, body) {
    const request = body ? { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) } : {};
    try {
      return await (await fetch(name, request)).json();
    } catch {
      throw new Error("xcid app no longer answers: start it again, and open the address that it prints.");
    }
  }

  xcid.explore(send).then((data) => {
    if (data) document.title = data.title;
  });
})(globalThis.xcid);
