// Draws weights: small pictures on canvas, large ones as SVG with colours written out, so that what is saved is what is seen.

const dark = matchMedia("(prefers-color-scheme: dark)");

// One hue, from paper to deep: darker is more in the light, brighter is more in the dark.
function palette() {
  return dark.matches
    ? { ramp: [[26, 31, 39], [36, 92, 158], [205, 231, 255]], paper: "#14181e", ink: "#e6eaef", muted: "#9da8b5", rule: "#2f3741", mark: "#f0a35e", line: "#82bdf5" }
    : { ramp: [[255, 255, 255], [104, 160, 219], [8, 44, 97]], paper: "#fcfcfa", ink: "#1a2230", muted: "#5a6472", rule: "#dfe3e8", mark: "#b45309", line: "#1f5fa8" };
}

function tint(share, ramp) {
  const place = Math.min(1, Math.max(0, share)) * 2, low = Math.min(1, Math.floor(place)), rest = place - low;
  return ramp[low].map((start, band) => Math.round(start + rest * (ramp[low + 1][band] - start)));
}

const rgb = (colour) => `rgb(${colour.join(",")})`;

function largestOf(map) {
  let most = 0;
  for (const weight of map.weights) if (weight > most) most = weight;
  return most;
}
const escapeText = (text) => text.replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]);

// The ramp as 256 pixels, computed once: a page may have a million of them to paint.
function pixelsOf(ramp) {
  const pixels = new Uint8ClampedArray(4 * 256);
  for (let level = 0; level < 256; level++) pixels.set([...tint(level / 255, ramp), 255], 4 * level);
  return new Uint32Array(pixels.buffer);
}

function paintThumbnail(canvas, map, colours) {
  const most = largestOf(map) || 1, pixels = new ImageData(map.columns, map.rows), painted = new Uint32Array(pixels.data.buffer);
  canvas.width = map.columns;
  canvas.height = map.rows;
  for (let place = 0; place < painted.length; place++) painted[place] = colours[Math.round((255 * map.weights[place]) / most)];
  canvas.getContext("2d").putImageData(pixels, 0, 0);
}

// How wide a name is, about; signs of wide scripts count twice.
function breadth(text) {
  let sum = 0;
  for (const sign of text) sum += /\p{M}/u.test(sign) ? 0 : /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u.test(sign) ? 2 : 1;
  return sum;
}

function cut(text, most) {
  if (breadth(text) <= most) return text;
  const signs = [...new Intl.Segmenter().segment(text)].map((part) => part.segment);
  while (signs.length > 1 && breadth(signs.join("")) >= most) signs.pop();
  return signs.join("") + "…";
}

function label(x, y, text, colour, { anchor = "start", size = 13, turned = false, weight = 400 } = {}) {
  const turn = turned ? ` transform="rotate(-55 ${x} ${y})"` : "";
  return `<text x="${x}" y="${y}" fill="${colour}" font-size="${size}" text-anchor="${anchor}" font-weight="${weight}"${turn}>${escapeText(text)}</text>`;
}

function frame(width, height, colours, inside, words) {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" ` +
    `aria-label="${escapeText(words)}" font-family="system-ui, 'Noto Sans', 'Noto Sans CJK SC', 'Noto Sans Hebrew', 'Noto Sans Arabic', sans-serif">` +
    `<rect width="${width}" height="${height}" fill="${colours.paper}"/>${inside}</svg>`;
}

// The places of a side that are named: all, or as many as there is room for.
function every(count, size, room) {
  return Math.max(1, Math.ceil(room / size));
}

function matrix(view, chosen, hovered, room) {
  const { map, rowNames, columnNames } = view, colours = palette(), most = largestOf(map) || 1;
  const longest = (names) => Math.min(18, names.reduce((sum, name) => Math.max(sum, breadth(name)), 2));
  const left = 14 + longest(rowNames) * 8, kind = view.part.columns.kind;
  const series = kind === "columns" && view.part.columns.values.length === map.columns, sound = kind === "sound" || series;
  const top = sound ? 76 : 18 + longest(columnNames) * 6.6;
  const right = sound ? 10 : 10 + longest(columnNames) * 4.2;
  const cell = Math.max(map.columns > 120 ? 2 : 3, Math.min(52, Math.floor(Math.min((room - left - right) / map.columns, 900 / map.rows))));
  const width = left + map.columns * cell + right, height = top + map.rows * cell + 8;
  // One path for each tint: ten thousand cells are a few hundred paths.
  const paths = new Map();
  for (let row = 0; row < map.rows; row++) {
    for (let column = 0; column < map.columns; column++) {
      const weight = map.weights[row * map.columns + column];
      if (weight === 0) continue;
      const level = Math.max(1, Math.round((weight / most) * 255));
      paths.set(level, (paths.get(level) || "") + `M${left + column * cell} ${top + row * cell}h${cell}v${cell}h-${cell}z`);
    }
  }
  let inside = `<rect x="${left}" y="${top}" width="${map.columns * cell}" height="${map.rows * cell}" fill="${rgb(colours.ramp[0])}" stroke="${colours.rule}"/>`;
  for (const [level, path] of paths) inside += `<path d="${path}" fill="${rgb(tint(level / 255, colours.ramp))}"/>`;
  if (series) inside += course(view.part.columns.values, left, 6, cell, top - 14);
  else if (sound) inside += spectrogram(view.part.columns, left, 6, map.columns * cell, top - 12);
  const step = every(map.rows, cell, 14), size = Math.max(9, Math.min(13, cell * step * .8));
  rowNames.forEach((name, row) => {
    const on = row === chosen;
    if (!on && (row % step || (chosen !== null && Math.abs(row - chosen) < step))) return;
    inside += label(left - 8, top + (row + .5) * cell + size * .36, cut(name, 18), on ? colours.line : colours.ink, { anchor: "end", size, weight: on ? 650 : 400 });
  });
  if (!sound) columnNames.forEach((name, column) => {
    if (column % step) return;
    inside += label(left + (column + .5) * cell + size * .3, top - 7, cut(name, 18), colours.ink, { size, turned: true });
  });
  if (chosen !== null && chosen < map.rows) inside += `<rect x="${left - 1}" y="${top + chosen * cell - 1}" width="${map.columns * cell + 2}" height="${cell + 2}" fill="none" stroke="${colours.line}" stroke-width="2"/>`;
  if (hovered) inside += `<rect x="${left + hovered[1] * cell}" y="${top + hovered[0] * cell}" width="${cell}" height="${cell}" fill="none" stroke="${colours.mark}" stroke-width="2"/>`;
  const at = (x, y) => {
    const row = Math.floor((y - top) / cell), column = Math.floor((x - left) / cell);
    return row >= 0 && row < map.rows && column < map.columns ? [row, column >= 0 ? column : null] : null;
  };
  return { svg: frame(width, height, colours, inside, told(view)), width, height, at };
}

function lines(view, chosen, hovered, room) {
  const { map, rowNames, columnNames } = view, colours = palette(), most = largestOf(map) || 1;
  const count = Math.max(map.rows, map.columns), gap = Math.max(13, Math.min(46, 560 / count)), size = Math.min(16, gap * .62);
  const broad = (names) => 20 + Math.min(22, names.reduce((sum, name) => Math.max(sum, breadth(name)), 2)) * size * .6;
  const left = broad(rowNames), right = broad(columnNames), span = Math.max(80, Math.min(380, room - left - right));
  const width = left + span + right, top = 30, height = top + count * gap + 12;
  const rowAt = (row) => top + ((row + .5) * count * gap) / map.rows, columnAt = (column) => top + ((column + .5) * count * gap) / map.columns;
  const drawn = [];
  for (let row = 0; row < map.rows; row++) {
    for (let column = 0; column < map.columns; column++) {
      const share = map.weights[row * map.columns + column] / most;
      if (share > .02) drawn.push([share * (chosen === null || chosen === row ? 1 : .07), row, column]);
    }
  }
  drawn.sort((one, other) => one[0] - other[0]);
  let inside = label(left - 10, 16, "looks", colours.muted, { anchor: "end", size: 12 }) + label(left + span + 10, 16, "at", colours.muted, { size: 12 });
  // So many lines at most: weaker ones would be hidden by them.
  for (const [share, row, column] of drawn.slice(-4000)) {
    const from = rowAt(row), to = columnAt(column), middle = left + span / 2;
    inside += `<path d="M${left} ${from.toFixed(1)}C${middle} ${from.toFixed(1)} ${middle} ${to.toFixed(1)} ${left + span} ${to.toFixed(1)}" fill="none" stroke="${colours.line}" stroke-opacity="${share.toFixed(3)}" stroke-width="${(.8 + 2.6 * share).toFixed(1)}"/>`;
  }
  const shares = chosen === null ? null : map.weights.slice(chosen * map.columns, (chosen + 1) * map.columns);
  rowNames.forEach((name, row) => {
    inside += label(left - 10, rowAt(row) + size * .36, cut(name, 22), row === chosen ? colours.line : colours.ink, { anchor: "end", size, weight: row === chosen ? 650 : 400 });
  });
  columnNames.forEach((name, column) => {
    const strong = shares && shares[column] >= .5 * Math.max(...shares) && shares[column] > 0;
    inside += label(left + span + 10, columnAt(column) + size * .36, cut(name, 22), strong ? colours.line : colours.ink, { size, weight: strong ? 650 : 400 });
  });
  const at = (x, y) => {
    const side = x > left + span / 2, places = side ? map.columns : map.rows, place = Math.floor(((y - top) / (count * gap)) * places);
    return place >= 0 && place < places ? (side ? [null, place] : [place, null]) : null;
  };
  return { svg: frame(width, height, colours, inside, told(view)), width, height, at };
}

// A picture's patches: the one that looks is framed, and where it looks is lit.
function glance(view, chosen, hovered, room) {
  const { map, part } = view, grid = part.columns, colours = palette(), side = Math.min(460, room), cell = side / Math.max(grid.rows, grid.columns);
  const width = grid.columns * cell, height = grid.rows * cell, row = chosen === null ? null : chosen;
  const weights = row === null ? columnMeans(map) : map.weights.slice(row * map.columns, (row + 1) * map.columns);
  const most = Math.max(...weights) || 1;
  let inside = `<image href="${grid.image}" width="${width}" height="${height}" preserveAspectRatio="none"/>`;
  const corner = (patch) => [(patch % grid.columns) * cell, Math.floor(patch / grid.columns) * cell];
  for (let place = grid.extra; place < map.columns; place++) {
    const [x, y] = corner(place - grid.extra);
    inside += `<rect x="${x}" y="${y}" width="${cell}" height="${cell}" fill="${colours.paper}" fill-opacity="${(.88 * (1 - weights[place] / most)).toFixed(3)}"/>`;
  }
  if (row !== null && part.rows.kind === "grid" && row >= grid.extra) {
    const [x, y] = corner(row - grid.extra);
    inside += `<rect x="${x + 1}" y="${y + 1}" width="${cell - 2}" height="${cell - 2}" fill="none" stroke="${colours.mark}" stroke-width="3"/>`;
  }
  const at = (x, y) => {
    const patch = Math.floor(y / cell) * grid.columns + Math.floor(x / cell);
    return x >= 0 && y >= 0 && x < width && y < height ? [part.rows.kind === "grid" ? patch + grid.extra : null, patch + grid.extra] : null;
  };
  return { svg: frame(width, height, colours, inside, told(view)), width, height, at };
}

function columnMeans(map) {
  const sums = new Float32Array(map.columns);
  map.weights.forEach((weight, place) => (sums[place % map.columns] += weight / map.rows));
  return sums;
}

// A column of a series, over its steps.
function course(values, x, y, cell, height) {
  const low = Math.min(...values), span = Math.max(...values) - low || 1;
  const points = values.map((value, place) => `${(x + (place + .5) * cell).toFixed(1)},${(y + height * (1 - (value - low) / span)).toFixed(1)}`);
  return `<polyline points="${points.join(" ")}" fill="none" stroke="${palette().muted}" stroke-width="1.5"/>`;
}

function spectrogram(sound, x, y, width, height) {
  const { bands, frames } = sound.spectrogram;
  if (!sound.image) {
    const canvas = document.createElement("canvas"), ramp = palette().ramp;
    canvas.width = frames;
    canvas.height = bands;
    const pixels = new ImageData(frames, bands), loud = Uint8Array.from(atob(sound.spectrogram.bytes), (sign) => sign.charCodeAt(0));
    for (let band = 0; band < bands; band++) {
      for (let frame = 0; frame < frames; frame++) pixels.data.set([...tint(loud[band * frames + frame] / 255, ramp), 255], 4 * ((bands - 1 - band) * frames + frame));
    }
    canvas.getContext("2d").putImageData(pixels, 0, 0);
    sound.image = canvas.toDataURL();
  }
  return `<image href="${sound.image}" x="${x}" y="${y}" width="${width}" height="${height}" preserveAspectRatio="none"/>`;
}

// The picture in a sentence, for those who do not see it.
function told(view) {
  const { map, rowNames, columnNames } = view;
  const parts = rowNames.slice(0, 40).map((name, row) => {
    let best = 0;
    for (let column = 1; column < map.columns; column++) if (map.weights[row * map.columns + column] > map.weights[row * map.columns + best]) best = column;
    return `${name} looks most at ${columnNames[best]} (${map.weights[row * map.columns + best].toFixed(2)})`;
  });
  return `${view.part.part} layer ${view.layer + 1} head ${view.head + 1}: ${parts.join("; ")}${rowNames.length > 40 ? "; and more" : ""}`;
}

const VIEWS = { lines, matrix, picture: glance };
const VIEW_NAMES = { lines: "Lines", matrix: "Matrix", picture: "Picture" };
