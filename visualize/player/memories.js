// What the memories held at any pass, worked out from the writes and reads of the trace.
(function (recap) {
  "use strict";
  const { NODE, FOUND, ROW, SPAN, words } = recap;
  const histories = new WeakMap();

  // The number of this request in its stream: the newest that wrote a row.
  recap.requestNumber = (run) => run.rows.reduce((most, row) => Math.max(most, row[ROW.request]), 0);

  // Who wrote a row: an earlier request, the reading of the prompt, or a pass of this request.
  recap.writerOf = function (state, row) {
    if (row[ROW.request] !== recap.requestNumber(state.run)) return words.earlierRequest(row[ROW.request]);
    return row[ROW.pass] === 0 ? words.prefillRow : words.writtenIn(row[ROW.pass]);
  };

  // How many tokens of the text U proposed, and how many of those from rows that earlier requests wrote.
  recap.tokensOfU = function (run) {
    const request = recap.requestNumber(run);
    const rows = run.text.filter((span) => span[SPAN.proposer] === "U").map((span) => {
      const { nodes } = run.passes[span[SPAN.pass] - 1];
      const above = nodes[nodes[span[SPAN.node]][NODE.parent]];
      return run.rows[above[NODE.retrieved].find((found) => found[FOUND.source] === "U")[FOUND.row]];
    });
    return [rows.length, rows.filter((row) => row[ROW.request] !== request).length];
  };

  // By map and key: the rows it held, each from which pass on (0: since the prompt, -1: from earlier requests).
  function historyOf(run) {
    if (histories.has(run)) return histories.get(run);
    const keys = new Map();
    const note = (map, ids, pass, row, old) => {
      const name = `${map}/${ids.join(",")}`;
      if (!keys.has(name)) keys.set(name, { map, ids, rows: [] });
      const { rows } = keys.get(name);
      if (!rows.length && old !== null) rows.push([-1, old]);
      if (row !== null) rows.push([pass, row]);
    };
    for (const [map, ids, , row, old] of run.prefill.writes) note(map, ids, 0, row, old);
    for (const pass of run.passes) {
      if (!pass.writes) continue;
      for (const node of pass.nodes) for (const found of node[NODE.retrieved]) if (found[FOUND.source] === "U") note("U", found[FOUND.key], pass.index, null, found[FOUND.row]);
      for (const [map, ids, , row, old] of pass.writes) note(map, ids, pass.index, row, old);
    }
    histories.set(run, keys);
    return keys;
  }

  // Every row known to be alive after a pass (0: after the prompt). Of earlier requests' rows a trace holds those alone
  // that its run read or replaced.
  recap.memoryAt = function (run, step) {
    const alive = [];
    for (const { map, ids, rows } of historyOf(run).values()) {
      const now = rows.filter(([pass]) => pass <= step).pop();
      if (now) alive.push({ map, ids, row: now[1] });
    }
    return alive;
  };
})((window.RecapPlayer = window.RecapPlayer || {}));
