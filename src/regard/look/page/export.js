// Saves exactly what is shown, as a drawing, as a picture, or as numbers.

function save(name, blob) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function fileName(ending) {
  const part = DATA.inputs[0].parts[state.part].part;
  return `${part}-layer-${state.layer + 1}-head-${state.head + 1}${state.step ? `-step-${state.step}` : ""}.${ending}`;
}

// Several figures beside each other become one drawing.
function asSvg(all) {
  const figures = all.filter(Boolean);
  const gap = 24, width = figures.reduce((sum, figure) => sum + figure.width + gap, -gap), height = Math.max(...figures.map((figure) => figure.height));
  if (figures.length === 1) return figures[0].svg;
  let x = 0;
  const inside = figures.map((figure) => {
    const moved = figure.svg.replace("<svg ", `<svg x="${x}" `);
    x += figure.width + gap;
    return moved;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"><rect width="${width}" height="${height}" fill="${palette().paper}"/>${inside.join("")}</svg>`;
}

async function asPng(figures, zoom = 2) {
  const drawing = asSvg(figures), picture = new Image();
  picture.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(drawing);
  await picture.decode();
  const canvas = element("canvas", { width: picture.width * zoom, height: picture.height * zoom });
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

function asCsv(views) {
  const cell = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return views.filter(Boolean).map((view) => [["", ...view.columnNames.map(cell)].join(","),
    ...view.rowNames.map((name, row) => [cell(name), ...Array.from(view.map.weights.slice(row * view.map.columns, (row + 1) * view.map.columns), (weight) => String(Number(weight.toPrecision(4))))].join(","))].join("\r\n")).join("\r\n\r\n") + "\r\n";
}

function drawExports(current) {
  const button = (text, act) => element("button", { type: "button", onclick: act }, text);
  $("exports").replaceChildren("Save what is shown",
    button("SVG", () => save(fileName("svg"), new Blob([asSvg(current().figures)], { type: "image/svg+xml" }))),
    button("PNG", async () => save(fileName("png"), await asPng(current().figures))),
    button("CSV", () => save(fileName("csv"), new Blob([asCsv(current().views)], { type: "text/csv" }))));
}
