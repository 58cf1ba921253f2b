/* The exact 0/1 knapsack of vastsum/selection/knapsack.py, step for step, so that a page chooses what Python chooses.

   vastsum.knapsack(values, weights, capacity) -> Uint8Array, 1 where an item is taken
       The most valuable non-empty set of items whose weights (positive whole numbers) sum to at most `capacity`.
       Values of zero or below are left out, except that a set is never empty while any item fits. Ties go to earlier
       items.
   vastsum.bestSet(values, weights, capacity) -> Uint8Array
       The same, but empty where nothing adds to a sum: what fills the room beside items that are taken anyway.

   Two steps. Bounds settle the items on which every best set agrees (`settle`). What they leave open, a handful of
   items and a little room, goes to a dynamic program (`solve`). Sums run in the same order as in Python wherever they
   decide. */
"use strict";
(function (vastsum) {
  const ROUNDING = 1e-9;

  vastsum.knapsack = function (values, weights, capacity) {
    const taken = vastsum.bestSet(values, weights, capacity);
    if (!taken.includes(1)) {
      const best = mostValuableThatFits(values, weights, capacity);
      if (best >= 0) taken[best] = 1;
    }
    return taken;
  };

  vastsum.bestSet = function (values, weights, capacity) {
    if (values.length === 0) return new Uint8Array(0);
    const unit = weights.reduce(greatestCommonDivisor);
    const units = Float64Array.from(weights, (weight) => weight / unit);
    const room = Math.floor(capacity / unit);
    const worth = Float64Array.from(values, (value, k) => (units[k] <= room ? value : 0));

    const { taken, open } = settle(worth, units, room);
    if (open.length > 0) {
      let left = room;
      for (let k = 0; k < taken.length; k++) if (taken[k]) left -= units[k];
      const decided = solve(
        open.map((k) => worth[k]),
        open.map((k) => units[k]),
        left,
      );
      open.forEach((k, n) => {
        taken[k] = decided[n];
      });
    }
    return taken;
  };

  /* The relaxed problem (items may be taken in part) is solved by filling up in order of value per weight; its value
     is an upper bound. Forcing an item the other way lowers that bound by at least |value - weight * price|, where
     price is the value per weight at which room runs out. Where the lowered bound is below what a whole solution
     reaches already, the item is settled. */
  function settle(values, weights, capacity) {
    const n = values.length;
    const density = Float64Array.from(values, (value, k) => value / weights[k]);
    const order = Uint32Array.from(values, (_, k) => k).sort((a, b) => density[b] - density[a] || a - b);

    let within = 0,
      load = 0,
      reached = 0;
    for (; within < n; within++) {
      const k = order[within];
      if (load + weights[k] > capacity || !(values[k] > 0)) break;
      load += weights[k];
      reached += values[k];
    }
    const price = within === n ? 0 : Math.max(density[order[within]], 0);
    const upper = reached + (capacity - load) * price;
    // A better whole solution settles more: also fill what is left with the best single later item that fits.
    let spare = 0;
    for (let i = within; i < n; i++) {
      const k = order[i];
      if (weights[k] <= capacity - load && values[k] > spare) spare = values[k];
    }
    const tolerance = ROUNDING * values.reduce((sum, value) => sum + Math.abs(value), 0);
    const lower = reached + spare - tolerance;

    const taken = new Uint8Array(n);
    const open = [];
    for (let k = 0; k < n; k++) {
      if (!(values[k] > 0)) continue;
      const slack = values[k] - weights[k] * price; // positive: the relaxed solution holds the item whole
      if (upper - Math.abs(slack) >= lower) open.push(k);
      else if (slack > 0) taken[k] = 1;
    }
    return { taken, open };
  }

  /* best[c] is the highest value within capacity c. An item is one pass over the capacities that matter, from above,
     so that it is counted once; below `capacity` minus the weight of all later items nothing is read again. One bit for
     each item and capacity remembers whether it was taken there. */
  function solve(values, weights, capacity) {
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    const room = Math.min(capacity, total);
    const best = new Float64Array(room + 1);
    let after = total;
    const takes = values.map((value, k) => {
      const weight = weights[k];
      after -= weight;
      const low = Math.max(weight, room - after);
      const row = new Uint8Array(low <= room ? (room >> 3) + 1 : 0);
      for (let c = room; c >= low; c--) {
        const candidate = best[c - weight] + value;
        if (candidate > best[c]) {
          best[c] = candidate;
          row[c >> 3] |= 1 << (c & 7);
        }
      }
      return row;
    });

    const taken = new Uint8Array(values.length);
    for (let k = values.length - 1, left = room; k >= 0; k--) {
      if (takes[k][left >> 3] & (1 << (left & 7))) {
        taken[k] = 1;
        left -= weights[k];
      }
    }
    return taken;
  }

  function mostValuableThatFits(values, weights, capacity) {
    let best = -1;
    for (let k = 0; k < values.length; k++) {
      if (weights[k] <= capacity && (best < 0 || values[k] > values[best])) best = k;
    }
    return best;
  }

  function greatestCommonDivisor(a, b) {
    while (b) [a, b] = [b, a % b];
    return a;
  }
})((globalThis.vastsum ??= {}));
