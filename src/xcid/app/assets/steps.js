"use strict";
/*
 * xcid.makeSteps(): what was done, to go back and forth.
 *
 * before(name, state)  keeps the state before a step; steps of one name that follow within a second are one, as a slider that is moved
 * undo(state), redo(state)  give the state to go to in place of the present one, or null
 */
(function (xcid) {
  const GATHERED = 1000; // milliseconds
  const MOST = 200; // steps that are kept

  function makeSteps() {
    const [done, undone] = [[], []];
    let last = { name: "", time: 0 };

    function move(from, to, state) {
      if (!from.length) return null;
      to.push(state);
      last = { name: "", time: 0 };
      return from.pop();
    }

    return {
      before(name, state) {
        const time = performance.now();
        if (name !== last.name || time - last.time > GATHERED) done.push(state);
        if (done.length > MOST) done.shift();
        undone.length = 0;
        last = { name, time };
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

  xcid.makeSteps = makeSteps;
})((globalThis.xcid = globalThis.xcid || {}));
