// Reads the recording that stands in the page: bytes, packed and in base64, become weights again.

const DATA = JSON.parse(document.getElementById("data").textContent);

async function bytes(text) {
  const packed = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

// A byte's share of its row's largest: 0 is exactly zero, 1 is more than zero and too small to tell.
const KNOWN = Float32Array.from({ length: 256 }, (_, level) => (level === 0 ? 0 : level === 1 ? 1e-6 : (level - 1) / 254));

// One part (encoder, decoder, cross) of one input: `at(layer, head)` gives its weights, row by row.
async function unpack(part) {
  const cells = new Uint8Array(await bytes(part.cells));
  const largest = new Float32Array(await bytes(part.largest));
  const kinds = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array };
  const where = part.where ? new kinds[part.whereBytes](await bytes(part.where)) : null;
  const [rows, columns] = part.size;
  const firstHead = [];
  part.heads.reduce((sum, count, layer) => ((firstHead[layer] = sum), sum + count), 0);
  const cache = new Map();
  part.at = (layer, head) => {
    const number = firstHead[layer] + head;
    if (!cache.has(number)) {
      const weights = new Float32Array(rows * columns);
      for (let row = 0, place = 0, from = number * rows * columns; row < rows; row++) {
        const top = largest[number * rows + row];
        for (let column = 0; column < columns; column++, place++) weights[place] = KNOWN[cells[from + place]] * top;
      }
      cache.set(number, weights);
    }
    return { rows, columns, weights: cache.get(number) };
  };
  // Which element of the input the largest weight of a pooled place belongs to: [row, column], counted from 0.
  part.element = (layer, head, row, column) => {
    if (!where) return [row, column];
    const found = where[(firstHead[layer] + head) * rows * columns + row * columns + column];
    return [part.start[0] + row * part.pool[0] + Math.floor(found / part.pool[1]), part.start[1] + column * part.pool[1] + (found % part.pool[1])];
  };
  return part;
}

// Pieces become words: a word is looked at as much as its pieces together, and looks as the mean of its pieces.
function merge(map, rowWords, columnWords) {
  if (!rowWords && !columnWords) return map;
  const rowOf = rowWords || Array.from({ length: map.rows }, (_, n) => n);
  const columnOf = columnWords || Array.from({ length: map.columns }, (_, n) => n);
  const rows = Math.max(...rowOf) + 1, columns = Math.max(...columnOf) + 1;
  const weights = new Float32Array(rows * columns), pieces = new Uint32Array(rows);
  for (let row = 0; row < map.rows; row++) {
    pieces[rowOf[row]]++;
    for (let column = 0; column < map.columns; column++) {
      weights[rowOf[row] * columns + columnOf[column]] += map.weights[row * map.columns + column];
    }
  }
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) weights[row * columns + column] /= pieces[row] || 1;
  }
  return { rows, columns, weights };
}

function mergeNames(names, words) {
  if (!words) return names;
  const merged = [];
  names.forEach((name, place) => (merged[words[place]] = (merged[words[place]] || "") + name));
  return merged.map((name) => name || "");
}
