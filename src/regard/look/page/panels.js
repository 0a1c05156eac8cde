// What stands around the figure: the answers, the grid of heads, numbers, and what the map is worth.

const $ = (name) => document.getElementById(name);

function element(kind, attributes = {}, ...inside) {
  const made = document.createElement(kind);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...inside);
  return made;
}

function drawAnswers() {
  const items = DATA.inputs.flatMap((input) => input.answers.map(({ name, answer, share }) =>
    element("li", { dir: "auto" }, name ? element("span", {}, `${name} `) : "", element("b", {}, answer),
      share === null ? "" : element("span", {}, ` ${share.toFixed(2)}`))));
  $("answers").replaceChildren(...items);
}

function drawBar(change) {
  const parts = DATA.inputs[0].parts;
  const group = (name, choices, current, choose) => element("div", { class: "group", role: "group", "aria-label": name },
    ...choices.map(([value, text]) => element("button", { type: "button", "aria-pressed": String(value === current), title: name === "part" ? WHOLE_NAMES[DATA.inputs[0].parts[value].part] : null, onclick: () => choose(value) }, text)));
  const bar = [];
  if (parts.length > 1) bar.push(group("part", parts.map((part, place) => [place, PART_NAMES[part.part] || part.part]), state.part, (part) => change({ part, layer: parts[part].heads.length - 1, head: telling(parts[part], parts[part].heads.length - 1), row: state.row.map(() => null), step: 0 })));
  const part = parts[state.part];
  bar.push(group("view", viewsOf(part).map((view) => [view, VIEW_NAMES[view]]), state.view, (view) => change({ view })));
  if (part.rows.words || part.columns.words) bar.push(group("pieces", [[true, "Whole words"], [false, "Pieces"]], state.words, (words) => change({ words, row: state.row.map(() => null) })));
  bar.push(element("span", { class: "note" }, part.rows.words || part.columns.words ? (state.words ? "A word is looked at as much as its pieces together, and looks as their mean." : "Each piece by itself, as the network reads it.") : ""));
  $("bar").replaceChildren(...bar);
}

const PART_NAMES = { encoder: "Encoder", decoder: "Decoder", cross: "Cross" };
const WHOLE_NAMES = { encoder: "What is read, at itself", decoder: "What is written, at itself", cross: "What is written, at what was read" };

function drawOverview(change) {
  const part = DATA.inputs[0].parts[state.part], heads = Math.max(...part.heads), made = [], colours = pixelsOf(palette().ramp);
  part.heads.forEach((count, layer) => {
    made.push(element("span", { class: "layer", title: `layer ${layer + 1}` }, String(layer + 1)));
    for (let head = 0; head < heads; head++) {
      if (head >= count) {
        made.push(element("span"));
        continue;
      }
      const on = layer === state.layer && head === state.head, chip = part.told[layer][head].chip;
      const canvas = element("canvas", { "aria-hidden": "true" });
      paintThumbnail(canvas, part.at(layer, head), colours);
      made.push(element("button", {
        type: "button", class: "thumb", "aria-pressed": String(on), tabindex: on ? "0" : "-1", "data-head": `${layer + 1}.${head + 1}`,
        "aria-label": `layer ${layer + 1}, head ${head + 1}: ${chip}`, title: `layer ${layer + 1}, head ${head + 1}: ${chip}`, onclick: () => change({ layer, head }, true),
      }, canvas, element("span", { class: "chip" }, chip)));
    }
  });
  const grid = $("overview");
  grid.classList.toggle("many", heads > 6);
  document.documentElement.style.setProperty("--heads", heads);
  document.documentElement.style.setProperty("--smallest", heads > 6 ? "1.5rem" : "3rem");
  document.documentElement.style.setProperty("--overview", `${Math.min(30, 2 + heads * (heads > 6 ? 2.4 : 5.9))}rem`);
  grid.replaceChildren(...made);
  $("overview-note").textContent = DATA.inputs.length > 1 ? "Small pictures and chips are of the first." : "";
}

function markOverview(focus) {
  for (const thumb of document.querySelectorAll(".thumb")) {
    const on = thumb.dataset.head === `${state.layer + 1}.${state.head + 1}`;
    thumb.setAttribute("aria-pressed", String(on));
    thumb.tabIndex = on ? 0 : -1;
    if (on && focus) thumb.focus();
  }
}

// The clicked element's numbers: where it looks, and for a pooled place which single elements those are.
function drawNumbers(views, hovered) {
  const blocks = views.flatMap((view, place) => {
    if (!view) return [];
    const row = hovered && hovered.place === place && hovered.at[0] !== null ? hovered.at[0] : state.row[place];
    const column = hovered && hovered.place === place && hovered.at[0] === null ? hovered.at[1] : null;
    if (column !== null) return [lookedAt(view, column)];
    return row === null || row >= view.map.rows ? [] : [looksAt(view, row)];
  });
  const measures = views.filter(Boolean).map(measuresOf);
  const hint = blocks.length ? [] : [element("p", { class: "note" }, "Choose an element in the picture to see where it looks.")];
  $("numbers").replaceChildren(element("div", {}, ...hint, ...blocks, ...measures));
}

function looksAt(view, row) {
  const shares = Array.from(view.map.weights.slice(row * view.map.columns, (row + 1) * view.map.columns), (weight, column) => [weight, column]);
  return ranking(view, `“${view.rowNames[row]}” looks at`, shares, (column) => view.columnNames[column], (column) => [row, column]);
}

function lookedAt(view, column) {
  const shares = Array.from({ length: view.map.rows }, (_, row) => [view.map.weights[row * view.map.columns + column], row]);
  return ranking(view, `“${view.columnNames[column]}” is looked at by`, shares, (row) => view.rowNames[row], (row) => [row, column]);
}

function ranking(view, title, shares, name, place) {
  const most = shares.reduce((sum, [weight]) => Math.max(sum, weight), 0) || 1;
  const strongest = shares.filter(([weight]) => weight > 0).sort((one, other) => other[0] - one[0]).slice(0, 5);
  const rows = strongest.map(([weight, at]) => {
    const bar = element("div", { class: "share" });
    bar.style.width = `${(100 * weight) / most}%`;
    return element("tr", {}, element("td", { dir: "auto" }, name(at), pooledElement(view, ...place(at)), bar), element("td", { class: "n", "data-weight": weight }, written(weight, view, ...place(at))));
  });
  if (!rows.length) rows.push(element("tr", {}, element("td", {}, "nothing")));
  const zeros = shares.filter(([weight]) => weight === 0).length;
  return element("div", {}, element("table", {}, element("caption", { dir: "auto" }, title), element("tbody", {}, ...rows)),
    element("p", { class: "note" }, `${strongest.length < shares.length ? `the ${strongest.length} largest of ${shares.length}; ` : ""}${zeros ? `${zeros} exactly zero` : "none is zero"}`));
}

// A number as it is known: what is below half a step of a byte is only known to be below it.
function written(weight, view, row) {
  let most = 0;
  for (let column = 0; column < view.map.columns; column++) most = Math.max(most, view.map.weights[row * view.map.columns + column]);
  const half = most / 508;
  return weight > 0 && weight < half ? `< ${(Math.ceil(half * 1000) / 1000).toFixed(3)}` : weight.toFixed(3);
}

function pooledElement(view, row, column) {
  if (view.part.pool[0] * view.part.pool[1] === 1) return "";
  const [from, to] = view.part.element(view.layer, view.head, row, column);
  return element("div", { class: "note" }, `largest: ${view.part.allRows[from]} (${from + 1}) → ${view.part.allColumns[to]} (${to + 1})`);
}

function measuresOf(view) {
  const found = view.part.told[view.layer][view.head].measures;
  const rows = Object.entries(found).map(([name, value]) => element("tr", { title: DATA.measures[name] || "" }, element("td", {}, name), element("td", { class: "n" }, value.toFixed(2))));
  return element("div", {}, element("table", {}, element("caption", {}, `Head ${view.head + 1} of layer ${view.layer + 1}`), element("tbody", {}, ...rows)),
    element("p", { class: "note" }, "Means over all its rows; entropy in bits, distance in elements, the others are shares from 0 to 1."));
}

function drawWorth(views) {
  const made = views.flatMap((view, place) => {
    if (!view) return [];
    const sentences = view.part.told[view.layer][view.head].sentences;
    return sentences.length ? sentences.map((sentence, number) => element("p", {}, views.length > 1 && number === 0 ? `${place + 1}. ${sentence}` : sentence)) : [element("p", {}, DATA.inputs[place].unmeasured)];
  });
  $("worth").replaceChildren(...made);
  $("worth").hidden = !made.some((paragraph) => paragraph.textContent);
}

function drawStep(change) {
  const input = DATA.inputs[0], part = input.parts[state.part], box = $("step");
  box.hidden = !input.steps.length || part.part === "encoder" || part.pool[0] > 1;
  if (box.hidden) return;
  const slider = element("input", { type: "range", min: 0, max: part.size[0], value: state.step, id: "step-slider", "aria-label": "step of writing", oninput: (event) => change({ step: Number(event.target.value), row: [event.target.value > 0 ? Number(event.target.value) - 1 : null, ...state.row.slice(1)] }) });
  const before = part.rows.names.slice(0, Math.max(0, state.step - 1)), now = state.step ? part.rows.names[state.step - 1] : "";
  const also = state.step ? input.steps[state.step - 1].map(([name, share]) => `${name} ${share.toFixed(2)}`).join(", ") : "";
  const words = state.step
    ? [element("div", { class: "so-far", dir: "auto" }, `${before.join(" ")} `, element("b", {}, now)), element("small", {}, `step ${state.step} of ${part.size[0]}; most probable here: ${also}`)]
    : [element("small", {}, "All steps of writing at once; move the slider to follow them one by one.")];
  const old = $("step-slider");
  if (old && document.activeElement === old) {
    old.value = state.step;
    box.replaceChildren(old, ...words);
    old.focus();
  } else box.replaceChildren(slider, ...words);
}

function fillTable(views) {
  const box = $("all-numbers");
  if (!box.open) return;
  const tables = views.filter(Boolean).map((view) => {
    if (view.map.rows * view.map.columns > 10000) return element("p", {}, "More than 10,000 numbers: CSV has them all.");
    const head = element("tr", {}, element("th"), ...view.columnNames.map((name) => element("th", { scope: "col", dir: "auto" }, name)));
    const rows = view.rowNames.map((name, row) => element("tr", {}, element("th", { scope: "row", dir: "auto" }, name),
      ...view.columnNames.map((_, column) => element("td", { class: "n" }, view.map.weights[row * view.map.columns + column].toFixed(3)))));
    return element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows));
  });
  box.querySelector(".scroll").replaceChildren(...tables);
}
