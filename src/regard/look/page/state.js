// What is chosen, kept in the address so that it can be sent as a link; everything on the page follows from it.

const state = { part: 0, layer: 0, head: 0, view: "lines", words: true, row: [], step: 0, patch: null };

function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  const number = (name, most, otherwise) => {
    const value = Number(given.get(name)) - 1;
    return Number.isInteger(value) && value >= 0 && value < most ? value : otherwise;
  };
  const parts = DATA.inputs[0].parts;
  const named = parts.findIndex((part) => part.part === given.get("part"));
  state.part = named < 0 ? 0 : named;
  const part = parts[state.part];
  state.layer = number("layer", part.heads.length, part.heads.length - 1);
  state.head = number("head", part.heads[state.layer], telling(part, state.layer));
  const long = Math.max(...part.size) > 60;
  const views = viewsOf(part);
  state.view = views.includes(given.get("view")) ? given.get("view") : views.includes("picture") ? "picture" : long ? "matrix" : "lines";
  state.words = given.get("pieces") !== "1";
  state.step = number("step", part.size[0], -1) + 1;
  state.row = DATA.inputs.map((_, place) => number(place ? `row${place + 1}` : "row", 1e6, null));
}

function writeAddress() {
  const kept = { part: DATA.inputs[0].parts[state.part].part, layer: state.layer + 1, head: state.head + 1, view: state.view };
  if (!state.words) kept.pieces = 1;
  if (state.step) kept.step = state.step;
  state.row.forEach((row, place) => row !== null && (kept[place ? `row${place + 1}` : "row"] = row + 1));
  try {
    history.replaceState(null, "", "#" + new URLSearchParams(kept));
  } catch {
    // In a frame of a notebook there is no address to keep it in.
  }
}

// The head to begin with: the one whose strongest edges matter most to the answer, else the first.
function telling(part, layer) {
  const heads = part.told[layer];
  let best = 0;
  heads.forEach((head, number) => {
    if ((head.matters || 0) > (heads[best].matters || 0)) best = number;
  });
  return best;
}

function viewsOf(part) {
  return part.columns.kind === "grid" ? ["picture", "matrix"] : ["lines", "matrix"];
}

// What is drawn of one input: the chosen head's weights, with names, merged and cut to the step that is shown.
function shown(place) {
  const part = DATA.inputs[place].parts[state.part];
  if (!part || !part.at) return null;
  const layer = Math.min(state.layer, part.heads.length - 1);
  const head = Math.min(state.head, part.heads[layer] - 1);
  const merging = state.words && !state.step;
  const rowWords = merging ? part.rows.words : null, columnWords = merging ? part.columns.words : null;
  const map = merge(part.at(layer, head), rowWords, columnWords);
  const rowNames = mergeNames(part.rows.names, rowWords), columnNames = mergeNames(part.columns.names, columnWords);
  if (state.step) {
    const rows = Math.min(state.step, map.rows);
    return { part, layer, head, rowNames: rowNames.slice(0, rows), columnNames, map: { rows, columns: map.columns, weights: map.weights.slice(0, rows * map.columns) } };
  }
  return { part, layer, head, map, rowNames, columnNames };
}
