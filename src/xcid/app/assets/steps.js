"use strict";
/*
 * xcid.makeSteps(): what was done, to go back and forth.
 *
 * before(state, key)  keeps the state before a step; edits of one key that follow within a second are one step, as a slider that is moved
 * undo(state), redo(state)  give the state to go to in place of the present one, or null
 * xcid.onStepKeys(undo, redo): Ctrl+Z, and Ctrl+Y or Ctrl+Shift+Z; fields that are typed in have their own.
 */
(function (xcid) {
  const GATHERED = 1000; // milliseconds
  const MOST = 200; // steps that are kept

  function makeSteps() {
    const [done, undone] = [[], []];
    const NO_EDIT = { key: null, time: 0 };
    let last = NO_EDIT;

    function move(from, to, state) {
      if (!from.length) return null;
      to.push(state);
      last = NO_EDIT;
      return from.pop();
    }

    return {
      before(state, key = null) {
        const time = performance.now();
        if (key === null || key !== last.key || time - last.time > GATHERED) done.push(state);
        if (done.length > MOST) done.shift();
        undone.length = 0;
        last = { key, time };
      },
      undo: (state) => move(done, undone, state),
      redo: (state) => move(undone, done, state),
      get canUndo() {
        return done.length > 0;
      },
      get canRedo() {
        return undone.length > 0;
      },
    };
  }

  function onStepKeys(undo, redo) {
    xcid.root.addEventListener("keydown", (event) => {
      const isTyped = event.target.matches("textarea, input:not([type=range], [type=checkbox])");
      const key = event.key.toLowerCase();
      if (isTyped || event.altKey || !(event.ctrlKey || event.metaKey) || !["z", "y"].includes(key)) return;
      event.preventDefault();
      if (key === "y" || event.shiftKey) redo();
      else undo();
    });
  }

  Object.assign(xcid, { makeSteps, onStepKeys });
})((globalThis.xcid = globalThis.xcid || {}));
