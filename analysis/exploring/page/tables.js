"use strict";
// Parts of views: elements, tables whose headers sort, downloads.

const measures = { log_dice: "logDice", pmi: "PMI", npmi: "NPMI", count: "count" };
const definitions = {
  log_dice: "14 + log2 of twice the pair's count over the counts of both words (Rychlý 2008). At most 14; one more is twice as typical. Comparable between corpora.",
  pmi: "Pointwise mutual information in bits: log2 of how many times more often the pair occurs than if its words were independent. High for rare pairs.",
  npmi: "PMI divided by its maximum for the pair's share of all pairs (Bouma 2009); at most 1.",
  count: "How often the adjective modifies the noun.",
  per_million: "The count in a million tokens of the corpus.",
  predicative: "How often the adjective is the predicate of the noun, as in “the key is old”.",
  contrast: "Log-likelihood ratio of the counts on both sides (Dunning 1993): how certain it is that the sides differ. Above 3.84 is unlikely to be chance (p < 0.05).",
  similarity: "Cosine of the logDice of the 1,000 strongest collocates of both words: 1 for the same collocates, 0 for none in common.",
  difference: "The measure of the first side minus that of the second.",
};

// Texts of the corpora only become text nodes: nothing in them is read as HTML.
function node(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

function number(value, measure = "count") {
  if (value === null || value === undefined) return "–";
  const decimals = { count: 0, per_million: 1, contrast: 1 }[measure] ?? 2;
  return value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

function pairLink(adjective, noun, text) {
  return node("a", { href: addressOf({ adjective, noun }) }, text);
}

function bar(share, kind = "") {
  const inner = node("span", { class: kind });
  inner.style.width = `${Math.max(1, 100 * share)}%`;
  return node("td", { class: "bar wide", "aria-hidden": "true" }, inner);
}

let definitionNumber = 0;

// A head of a column: {text, isHidden, kind, definition, sorted}; sort is what its button does.
function head(column, sort) {
  const attributes = { scope: "col", class: column.kind || "" };
  if (column.sorted) attributes["aria-sort"] = column.sorted;
  const cell = node("th", attributes);
  const mark = { descending: " ▼", ascending: " ▲" }[column.sorted] || "";
  if (!sort) {
    cell.append(column.isHidden ? node("span", { class: "hidden-text" }, column.text) : column.text);
    return cell;
  }
  const button = node("button", { type: "button", class: "sort", onclick: sort }, column.text,
    node("span", { "aria-hidden": "true" }, mark));
  cell.append(button);
  if (column.definition) {
    definitionNumber += 1;
    const id = `definition-${definitionNumber}`;
    button.setAttribute("aria-describedby", id);
    cell.append(node("span", { class: "definition", role: "tooltip", id }, column.definition));
  }
  return cell;
}

// Columns have cell(record); a column with value(record) sorts the records that are shown, one with
// sort() asks for others.
function table(caption, columns, records) {
  const body = node("tbody");
  const heads = node("tr");
  const fill = (ordered) => body.replaceChildren(
    ...ordered.map((record) => node("tr", {}, ...columns.map((column) => column.cell(record)))));
  const reorder = (column) => {
    const falls = column.sorted !== "descending";
    for (const one of columns) one.sorted = undefined;
    column.sorted = falls ? "descending" : "ascending";
    fill([...records].sort((one, other) => {
      const [left, right] = [column.value(one), column.value(other)];
      const order = left < right ? 1 : left > right ? -1 : 0;
      return falls ? order : -order;
    }));
    const place = columns.indexOf(column);
    drawHeads();
    heads.children[place].querySelector("button").focus();
  };
  const drawHeads = () => heads.replaceChildren(...columns.map((column) => {
    const sort = column.sort || (column.value && (() => reorder(column)));
    return head(column, sort);
  }));
  drawHeads();
  fill(records);
  return node("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    node("table", {}, node("caption", {}, caption), node("thead", {}, heads), body));
}

function textColumn(text, value, kind = "") {
  return { text, kind, cell: (record) => node("td", { class: kind }, value(record)) };
}

function downloadTsv(name, rows) {
  const names = Object.keys(rows[0]);
  const field = (value) => {
    if (value === null) return "";
    // Measures have six digits, as in the files of the server.
    if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(6)));
    return String(value).replace(/\s+/g, " ");
  };
  const lines = [names, ...rows.map((row) => names.map((one) => field(row[one])))];
  const text = `${lines.map((line) => line.join("\t")).join("\n")}\n`;
  save(`${name}.tsv`, new Blob([text], { type: "text/tab-separated-values" }));
}

function tools(name, rows, svg, tsvAddress) {
  const tsv = tsvAddress
    ? node("a", { class: "button", href: tsvAddress, download: `${name}.tsv` }, "Rows as TSV")
    : node("button", { type: "button", onclick: () => downloadTsv(name, rows) }, "Rows as TSV");
  if (!svg) return node("div", { class: "tools" }, tsv);
  return node("div", { class: "tools" }, tsv,
    node("button", { type: "button", onclick: () => saveSvg(svg, name) }, "Chart as SVG"),
    node("button", { type: "button", onclick: () => savePng(svg, name) }, "Chart as PNG"));
}

function command(text) {
  return node("p", { class: "note" }, "The same rows on the command line: ", node("code", {}, text));
}
