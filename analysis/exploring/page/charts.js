"use strict";
// Charts as SVG, which can also be downloaded; PNG pictures are drawn from it.

const svgName = "http://www.w3.org/2000/svg";

function shape(name, attributes, text) {
  const element = document.createElementNS(svgName, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

// Colours are written into the chart, so that a saved file looks like the page.
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// Charts are as wide as the page, so that their text is not scaled down on a narrow screen.
function chartWidth() {
  const available = document.getElementById("result").clientWidth;
  return Math.max(320, Math.min(640, available || 640));
}

function canvasOf(width, height, label) {
  const svg = shape("svg", {
    xmlns: svgName, viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
    "aria-label": label, "font-family": "system-ui, sans-serif", "font-size": 12,
  });
  svg.append(shape("rect", { width, height, fill: colour("page") }));
  return svg;
}

function ticks(low, high, count) {
  const step = 10 ** Math.floor(Math.log10((high - low) / count || 1));
  const wide = [1, 2, 5, 10].map((factor) => factor * step)
    .find((size) => (high - low) / size <= count);
  const found = [];
  for (let at = Math.ceil(low / wide) * wide; at <= high + 1e-9; at += wide) {
    found.push(Number(at.toFixed(10)));
  }
  return found;
}

// Frequency (logarithmic) against PMI; the points with the highest measure are labelled.
function scatter(rows, partner, measure, label) {
  const [width, height, left, bottom] = [chartWidth(), 400, 48, 44];
  const svg = canvasOf(width, height, label);
  const counts = rows.map((row) => Math.log10(row.count));
  const values = rows.map((row) => row.pmi);
  const [high, low, top] = [
    Math.max(1, ...counts), Math.min(0, ...values), Math.max(1, ...values),
  ];
  const x = (value) => left + 12 + (value / high) * (width - left - 110);
  const y = (value) => height - bottom - ((value - low) / (top - low)) * (height - bottom - 34);
  const quiet = { fill: colour("quiet") };
  for (let power = 0; power <= high; power += 1) {
    svg.append(shape("text", { ...quiet, x: x(power), y: height - bottom + 18, "text-anchor": "middle" },
      (10 ** power).toLocaleString("en")));
  }
  for (const value of ticks(low, top, 6)) {
    svg.append(shape("line", {
      x1: left, x2: width - 10, y1: y(value), y2: y(value), stroke: colour("line"),
    }));
    svg.append(shape("text", { ...quiet, x: left - 6, y: y(value) + 4, "text-anchor": "end" }, value));
  }
  svg.append(shape("text", { ...quiet, x: width / 2, y: height - 6, "text-anchor": "middle" }, "count"));
  svg.append(shape("text", { ...quiet, x: left, y: 14 }, "PMI, bits"));
  const named = [...rows].sort((one, other) => other[measure] - one[measure]).slice(0, 40);
  for (const row of rows) {
    const point = shape("circle", {
      cx: x(Math.log10(row.count)), cy: y(row.pmi), r: 3.5, fill: colour("first"), "fill-opacity": 0.6,
    });
    point.append(shape("title", {}, `${row[partner]} (${row.corpus}): count ${row.count}, PMI ${row.pmi.toFixed(2)}`));
    svg.append(point);
  }
  const placed = [];
  for (const row of named) {
    const [cx, cy] = [x(Math.log10(row.count)) + 6, y(row.pmi) + 4];
    if (placed.some(([ox, oy]) => Math.abs(ox - cx) < 70 && Math.abs(oy - cy) < 12)) continue;
    placed.push([cx, cy]);
    svg.append(shape("text", { x: cx, y: cy, fill: colour("text") }, row[partner]));
  }
  return svg;
}

// Bars from a common line: to the right for positive values, to the left for negative ones.
function bars(lines, label) {
  const [width, height] = [chartWidth(), 24 + 18 * lines.length];
  const left = Math.min(170, width * 0.4);
  const svg = canvasOf(width, height, label);
  const low = Math.min(0, ...lines.map((line) => line.value));
  const high = Math.max(0, ...lines.map((line) => line.value));
  const x = (value) => left + ((value - low) / (high - low || 1)) * (width - left - 70);
  lines.forEach((line, place) => {
    const y = 12 + 18 * place;
    const [start, end] = [Math.min(x(0), x(line.value)), Math.max(x(0), x(line.value))];
    svg.append(shape("text", { x: left - 10, y: y + 12, "text-anchor": "end", fill: colour("text") }, line.name));
    svg.append(shape("rect", {
      x: start, y, width: Math.max(1, end - start), height: 14,
      fill: colour(line.value < 0 ? "second" : "first"),
    }));
    svg.append(shape("text", { x: end + 5, y: y + 12, fill: colour("quiet") }, line.text));
  });
  return svg;
}

function save(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function saveSvg(svg, name) {
  const text = new XMLSerializer().serializeToString(svg);
  save(`${name}.svg`, new Blob([text], { type: "image/svg+xml" }));
}

async function savePng(svg, name) {
  const text = new XMLSerializer().serializeToString(svg);
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await picture.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [2 * picture.width, 2 * picture.height];
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => save(`${name}.png`, blob), "image/png");
}
