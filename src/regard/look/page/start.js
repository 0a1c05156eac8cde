// Puts it all together: what is chosen changes, and the page is drawn anew.

let current = { views: [], figures: [] };

function drawFigures(hovered) {
  const views = DATA.inputs.map((_, place) => shown(place));
  const box = $("figures");
  DATA.inputs.forEach((_, place) => box.children[place] || box.append(makeHolder(place)));
  const room = (place) => Math.max(260, box.children[place].querySelector(".drawing").clientWidth - 2);
  const figures = views.map((view, place) => view && VIEWS[state.view](view, state.row[place], hovered && hovered.place === place && hovered.at[0] !== null && hovered.at[1] !== null ? hovered.at : null, room(place)));
  current = { views, figures };
  figures.forEach((figure, place) => {
    const holder = box.children[place];
    if (!figure) {
      holder.querySelector(".drawing").textContent = "This input has no such part.";
      return;
    }
    holder.querySelector(".drawing").innerHTML = figure.svg;
    holder.querySelector(".most").textContent = `0 to ${largestOf(views[place].map).toFixed(3)}`;
    paintScale(holder.querySelector(".scale canvas"));
  });
  return views;
}

function makeHolder(place) {
  const input = DATA.inputs[place];
  const caption = DATA.inputs.length > 1 ? [element("figcaption", { dir: "auto" }, `${place + 1}. ${input.title}`)] : [];
  const drawing = element("div", { class: "drawing", tabindex: "0", role: "group", "aria-label": "the chosen head; arrow keys choose an element" });
  const find = (event) => {
    const svg = drawing.querySelector("svg");
    if (!svg || !current.figures[place]) return null;
    const box = svg.getBoundingClientRect(), zoom = current.figures[place].width / box.width;
    return current.figures[place].at((event.clientX - box.left) * zoom, (event.clientY - box.top) * zoom);
  };
  let last = "";
  drawing.addEventListener("pointermove", (event) => {
    const at = find(event), name = String(at);
    if (name === last) return;
    last = name;
    drawNumbers(drawFigures(at && { place, at }), at && { place, at });
  });
  drawing.addEventListener("pointerleave", () => ((last = ""), drawNumbers(drawFigures(null), null)));
  // Not "click": what was pressed may have been drawn anew under the pointer before it is let go.
  drawing.addEventListener("pointerup", (event) => {
    const at = find(event);
    if (!at || at[0] === null) return;
    const row = [...state.row];
    row[place] = row[place] === at[0] ? null : at[0];
    change({ row });
  });
  const scale = element("div", { class: "scale" }, element("canvas", { width: 112, height: 1, "aria-hidden": "true" }), element("span", { class: "most" }));
  const sound = input.parts.map((part) => part.columns).find((axis) => axis.kind === "sound" && axis.wave);
  return element("figure", {}, ...caption, ...(sound ? [element("audio", { controls: true, src: sound.wave })] : []), drawing, scale);
}

function paintScale(canvas) {
  const { ramp } = palette(), pixels = new ImageData(112, 1);
  for (let place = 0; place < 112; place++) pixels.data.set([...tint(place / 111, ramp), 255], 4 * place);
  canvas.getContext("2d").putImageData(pixels, 0, 0);
}

function title() {
  const part = DATA.inputs[0].parts[state.part];
  $("chosen-title").textContent = `${WHOLE_NAMES[part.part] || part.part}: layer ${state.layer + 1} of ${part.heads.length}, head ${state.head + 1} of ${part.heads[state.layer]} · ${part.told[state.layer][state.head].chip}`;
}

function change(changes, focus = false) {
  const partChanges = "part" in changes && changes.part !== state.part;
  Object.assign(state, changes);
  const part = DATA.inputs[0].parts[state.part];
  if (!viewsOf(part).includes(state.view)) state.view = viewsOf(part)[0];
  state.head = Math.min(state.head, part.heads[state.layer] - 1);
  drawBar(change);
  partChanges ? drawOverview(change) : markOverview(focus);
  title();
  drawStep(change);
  const views = drawFigures(null);
  drawNumbers(views, null);
  drawWorth(views);
  fillTable(views);
  $("pooled").textContent = part.pool[0] * part.pool[1] > 1 ? ` This input is long: each place shows the largest weight of ${part.pool[0]} × ${part.pool[1]} elements, and its numbers say which single elements those are.` : "";
  writeAddress();
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || ["INPUT", "AUDIO", "SUMMARY"].includes(event.target.tagName)) return;
  const part = DATA.inputs[0].parts[state.part], heads = part.heads[state.layer], rows = current.views[0] ? current.views[0].map.rows : 0;
  const row = (step) => change({ row: [Math.max(0, Math.min(rows - 1, (state.row[0] === null ? (step > 0 ? -1 : rows) : state.row[0]) + step)), ...state.row.slice(1)] });
  const inGrid = event.target.classList && event.target.classList.contains("thumb");
  const layer = (step) => change({ layer: Math.max(0, Math.min(part.heads.length - 1, state.layer + step)) }, inGrid);
  const keys = {
    ArrowRight: () => change({ head: Math.min(heads - 1, state.head + 1) }, inGrid),
    ArrowLeft: () => change({ head: Math.max(0, state.head - 1) }, inGrid),
    PageDown: () => layer(1), PageUp: () => layer(-1),
    ArrowDown: () => (inGrid ? layer(1) : row(1)), ArrowUp: () => (inGrid ? layer(-1) : row(-1)),
    l: () => change({ view: "lines" }), m: () => change({ view: "matrix" }), Escape: () => change({ row: state.row.map(() => null), step: 0 }),
  };
  if (!keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
}

async function start() {
  await Promise.all(DATA.inputs.flatMap((input) => input.parts.map(unpack)));
  readAddress();
  $("main").classList.toggle("several", DATA.inputs.length > 1);
  drawAnswers();
  drawOverview(change);
  drawExports(() => current);
  change({});
  document.addEventListener("keydown", pressed);
  addEventListener("hashchange", () => (readAddress(), drawOverview(change), change({})));
  dark.addEventListener("change", () => {
    for (const input of DATA.inputs) for (const part of input.parts) if (part.columns.kind === "sound") delete part.columns.image;
    drawOverview(change);
    change({});
  });
  addEventListener("resize", () => drawFigures(null));
  $("all-numbers").addEventListener("toggle", () => fillTable(current.views));
  document.body.dataset.ready = "yes";
}

start();
