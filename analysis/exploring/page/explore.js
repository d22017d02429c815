"use strict";
// The page: the part of the address after the # defines the view, so that every view has a link.

const form = document.getElementById("query");
const result = document.getElementById("result");
const measures = { log_dice: "logDice", pmi: "PMI", npmi: "NPMI", count: "count" };
const classNames = { I: "intersective", S: "subsective", O: "intensional", none: "" };
const defaults = {
  role: "noun", word: "", other: "", corpus: "", other_corpus: "", measure: "log_dice",
  floor: "1", classes: "", limit: "100",
};
let source;
let newest = 0;

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

function queryOfAddress() {
  const values = new URLSearchParams(location.hash.slice(1));
  const query = { ...defaults };
  for (const name of Object.keys(defaults)) if (values.has(name)) query[name] = values.get(name);
  return { query, adjective: values.get("adjective"), noun: values.get("noun") };
}

function addressOf(values) {
  const changed = Object.entries(values)
    .filter(([name, value]) => value && (name === "word" || name === "role" || value !== defaults[name]));
  return `#${new URLSearchParams(changed)}`;
}

function queryOfForm() {
  const data = new FormData(form);
  const query = { ...defaults };
  for (const name of Object.keys(defaults)) query[name] = (data.get(name) || "").trim();
  query.classes = data.getAll("classes").join(",");
  query.floor = query.floor || "1";
  return query;
}

function fillForm(query) {
  for (const [name, value] of Object.entries(query)) {
    if (name === "classes") {
      const classes = value.split(",");
      for (const box of form.elements.classes) box.checked = classes.includes(box.value);
    } else if (name === "role") {
      for (const choice of form.elements.role) choice.checked = choice.value === value;
    } else {
      form.elements[name].value = value;
    }
  }
  if (query.other || query.other_corpus) document.getElementById("compare").open = true;
  requireCorpus();
}

// A second corpus is compared with the first, so that one must be chosen too.
function requireCorpus() {
  form.elements.corpus.required = Boolean(form.elements.other_corpus.value);
}

function number(value, measure = "count") {
  return value === null ? "–" : measure === "count" ? value.toLocaleString("en") : value.toFixed(2);
}

function pairLink(adjective, noun, text) {
  return node("a", { href: addressOf({ adjective, noun }) }, text);
}

function bar(share, kind = "") {
  const inner = node("span", { class: kind });
  inner.style.width = `${Math.max(1, 100 * share)}%`;
  return node("td", { class: "bar wide", "aria-hidden": "true" }, inner);
}

function table(caption, heads, rows) {
  const cells = heads.map(([text, kind]) => node("th", { scope: "col", class: kind || "" }, text));
  return node("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    node("table", {}, node("caption", {}, caption), node("thead", {}, node("tr", {}, ...cells)),
      node("tbody", {}, ...rows)));
}

function tools(name, rows, svg, tsvAddress) {
  const tsv = () => {
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
  };
  return node("div", { class: "tools" },
    tsvAddress ? node("a", { class: "button", href: tsvAddress, download: `${name}.tsv` }, "Rows as TSV")
      : node("button", { type: "button", onclick: tsv }, "Rows as TSV"),
    node("button", { type: "button", onclick: () => saveSvg(svg, name) }, "Chart as SVG"),
    node("button", { type: "button", onclick: () => savePng(svg, name) }, "Chart as PNG"));
}

function command(text) {
  return node("p", { class: "note" }, "The same rows on the command line: ", node("code", {}, text));
}

function unknown(query, words, nearest) {
  // The first unknown word is the one to replace; the other side of a difference stays.
  const replaced = words[0] === query.word ? "word" : "other";
  const links = nearest.flatMap((word, place) => [
    place ? ", " : "", node("a", { href: addressOf({ ...query, [replaced]: word }) }, word)]);
  return node("div", { class: "error" }, node("p", {},
    `No pairs with the ${query.role} “${words.join("” or “")}”.`,
    ...(links.length ? [" Similar words: ", ...links, "."] : [])));
}

function sketch(query, answer) {
  const partner = partnerOf(query.role);
  const several = !query.corpus && Object.keys(source.about.corpora).length > 1;
  const what = query.role === "noun" ? "Adjectives" : "Nouns";
  const title = `${what} of “${query.word}”`;
  if (!answer.rows.length && !Object.keys(answer.words).length) {
    return [node("h2", {}, title), unknown(query, [query.word], answer.nearest)];
  }
  if (!answer.rows.length) {
    return [node("h2", {}, title),
      node("p", { class: "error" }, "No rows with these filters; a lower minimum count or other classes may help.")];
  }
  // Measures may be negative: a bar is as long as its value is above 0.
  const most = Math.max(0, ...answer.rows.map((row) => row[query.measure])) || 1;
  const rows = answer.rows.map((row) => node("tr", {},
    node("th", { scope: "row" }, pairLink(row.adjective, row.noun, row[partner])),
    bar(Math.max(0, row[query.measure]) / most),
    ...["log_dice", "pmi", "npmi", "count"].map((name) => node("td",
      { class: name === query.measure || name === "count" ? "number" : "number wide" },
      number(row[name], name))),
    node("td", {}, classNames[row.class]),
    ...(several ? [node("td", {}, row.corpus)] : [])));
  const shown = ["log_dice", "pmi", "npmi", "count"].map((name) => [measures[name],
    name === query.measure || name === "count" ? "number" : "number wide"]);
  const heads = [[partner], ["", "wide"], ...shown, ["class"], ...(several ? [["corpus"]] : [])];
  heads[1][0] = measures[query.measure];
  const counts = Object.entries(answer.words).map(([corpus, count]) => `${number(count)} in ${corpus}`);
  const unit = several ? "rows (each word in each corpus)" : `${partner}s`;
  const caption = `${number(answer.rows.length)} of ${number(answer.total)} ${unit} by ${measures[query.measure]}`;
  const chart = scatter(answer.rows, partner, query.measure,
    `${title}: count against PMI; the table has the same values`);
  const address = source.address && source.address("rows.tsv", query);
  return [node("h2", {}, title),
    node("p", { class: "note" }, `Pairs with “${query.word}”: ${counts.join(", ")}.`),
    tools(`${query.role}-${query.word}`, answer.rows, chart, address),
    table(caption, heads, rows), node("h3", {}, "Count against PMI"), chart, command(answer.command)];
}

function difference(query, answer) {
  const sides = [query.word, query.other || query.word];
  if (query.other_corpus) {
    sides[0] += ` (${query.corpus})`;
    sides[1] += ` (${query.other_corpus})`;
  }
  const title = `“${sides[0]}” compared with “${sides[1]}”`;
  if (answer.unknown.length) return [node("h2", {}, title), unknown(query, answer.unknown, answer.nearest)];
  if (!answer.rows.length) {
    return [node("h2", {}, title), node("p", { class: "error" }, "No rows with these filters.")];
  }
  const partner = partnerOf(query.role);
  const most = Math.max(...answer.rows.map((row) => Math.abs(row.difference))) || 1;
  const link = (row) => {
    const word = row.difference >= 0 ? query.word : query.other || query.word;
    return query.role === "noun" ? pairLink(row.word, word, row.word) : pairLink(word, row.word, row.word);
  };
  const rows = answer.rows.map((row) => node("tr", {},
    node("th", { scope: "row" }, link(row)),
    bar(Math.abs(row.difference) / most, row.difference < 0 ? "second" : "first"),
    ...["first", "second", "difference"].map((name) => node("td", { class: "number" },
      number(row[name], query.measure))),
    node("td", { class: "number wide" }, `${number(row.first_count)} / ${number(row.second_count)}`)));
  const heads = [[partner], ["share of the largest difference", "wide"], [sides[0], "number"],
    [sides[1], "number"], ["difference", "number"], ["counts", "number wide"]];
  const lines = answer.rows.filter((row) => row.difference >= 0).slice(0, 20)
    .concat(answer.rows.filter((row) => row.difference < 0).slice(-20));
  const chart = bars(lines.map((row) => ({
    name: row.word, value: row.difference, text: number(row.difference, query.measure),
  })), `${title}: differences of ${measures[query.measure]}; the table has the same values`);
  const address = source.address && source.address("rows.tsv", query);
  return [node("h2", {}, title),
    node("p", { class: "note" }, `Difference of ${measures[query.measure]}; a word that only one side has counts as 0 on the other.`),
    tools(`${query.word}-${query.other || query.other_corpus}`, answer.rows, chart, address),
    table(`${number(answer.rows.length)} of ${number(answer.total)} ${partner}s`, heads, rows),
    node("h3", {}, "The largest differences"), chart, command(answer.command)];
}

function pairView(adjective, noun, answer) {
  const title = `${adjective} ${noun}`;
  const parts = [node("h2", {}, title), node("p", { class: "note" },
    node("a", { href: addressOf({ role: "noun", word: noun }) }, `adjectives of “${noun}”`), " · ",
    node("a", { href: addressOf({ role: "adjective", word: adjective }) }, `nouns of “${adjective}”`))];
  if (!answer.rows.length) parts.push(node("p", { class: "error" }, "No corpus has this pair."));
  else {
    const chart = bars(answer.rows.map((row) => ({ name: row.corpus, value: row.count, text: number(row.count) })),
      `${title}: count by corpus; the table has the same values`);
    const rows = answer.rows.map((row) => node("tr", {}, node("th", { scope: "row" }, row.corpus),
      ...["count", "adjective_count", "noun_count", "pmi", "npmi", "log_dice"]
        .map((name) => node("td", { class: "number" },
          number(row[name], name.endsWith("count") ? "count" : name)))));
    parts.push(tools(title.replace(" ", "-"), answer.rows, chart, null),
      table("Counts and association", [["corpus"], ["count", "number"], [`${adjective} …`, "number"],
        [`… ${noun}`, "number"], ["PMI", "number"], ["NPMI", "number"], ["logDice", "number"]], rows), chart);
  }
  parts.push(node("h3", {}, "Example sentences"));
  parts.push(...answer.examples.map((row) => node("blockquote", {}, row.sentence,
    node("cite", {}, `${row.document} (${row.corpus})`))));
  if (!answer.examples.length) {
    parts.push(node("p", { class: "note" }, "None are stored; adnominal extract … examples=3 stores some."));
  }
  parts.push(node("h3", {}, "Items in the datasets"), ...itemParts(answer));
  if (source.about.lake !== undefined) {
    const words = ["adnominal", "lake", "why", adjective, noun, `lake=${source.about.lake}`];
    parts.push(command(shellJoin(words)));
  }
  return parts;
}

function itemParts(answer) {
  if (!answer.items.length) return [node("p", { class: "note" }, "No dataset has an item with this pair.")];
  const said = new Map();
  for (const row of answer.predictions) {
    said.set(row.item_id, [...(said.get(row.item_id) || []), `${row.model}: ${row.predicted}`]);
  }
  const rows = answer.items.map((item) => node("tr", {},
    node("th", { scope: "row" }, `${item.dataset} (${item.edition})`),
    node("td", {}, item.first), node("td", {}, item.second), node("td", {}, item.label),
    node("td", {}, (said.get(item.item_id) || ["–"]).join("; "))));
  return [table(`${number(answer.items.length)} items`,
    [["dataset"], ["first text"], ["second text"], ["label"], ["predicted"]], rows)];
}

async function show(focus) {
  const { query, adjective, noun } = queryOfAddress();
  newest += 1;
  const mine = newest;
  result.setAttribute("aria-busy", "true");
  let parts = [];
  try {
    if (adjective && noun) parts = pairView(adjective, noun, await source.pair(adjective, noun));
    else if (query.word) {
      fillForm(query);
      const answer = await source.rows(query);
      const view = query.other || query.other_corpus ? difference : sketch;
      parts = view({ ...query, word: answer.word, other: answer.other }, answer);
    } else {
      const [example] = await source.suggest("noun", "key");
      const link = example && node("a", { href: addressOf({ role: "noun", word: example.word }) },
        `the adjectives of “${example.word}”`);
      parts = [node("p", { class: "note" }, "Type a word", ...(link ? [", or open ", link] : []), ".")];
    }
  } catch (error) {
    parts = [node("p", { class: "error", role: "alert" }, error.message)];
  }
  if (mine !== newest) return;
  result.replaceChildren(...parts);
  result.setAttribute("aria-busy", "false");
  const heading = result.querySelector("h2");
  document.title = heading ? `${heading.textContent} – Word sketches` : "Word sketches";
  if (focus) result.focus();
}

let typing;
function suggest(event) {
  if (!["word", "other", "role"].includes(event.target.name)) return;
  const list = document.getElementById("words");
  clearTimeout(typing);
  typing = undefined;
  if (event.target.name === "role") {
    list.replaceChildren();
    return;
  }
  typing = setTimeout(async () => {
    const mine = typing;
    const role = new FormData(form).get("role");
    // The form works without suggestions, so a server that has ended is reported by the view.
    const words = await source.suggest(role, event.target.value.trim()).catch(() => []);
    if (mine !== typing) return;
    list.replaceChildren(...words.map((one) => node("option", { value: one.word }, number(one.count))));
  }, 120);
}

async function start() {
  const isStatic = document.documentElement.hasAttribute("data-static");
  source = await (isStatic ? StaticSource : ServerSource).open();
  const { corpora } = source.about;
  for (const name of ["corpus", "other_corpus"]) {
    form.elements[name].append(...Object.keys(corpora).sort().map((one) => node("option", { value: one }, one)));
  }
  const sizes = Object.entries(corpora).map(([name, rows]) => (rows === null ? name : `${name} (${number(rows)} pairs)`));
  document.getElementById("about").textContent = `Adjective–noun pairs of ${sizes.join(", ")}`
    + (source.about.min_count > 1 ? `; counts of ${source.about.min_count} and more.` : ".");
  form.addEventListener("input", suggest);
  form.addEventListener("change", requireCorpus);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const address = addressOf(queryOfForm());
    if (address === location.hash) show(true); else location.hash = address;
  });
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // the address belongs to the view
    result.focus();
  });
  window.addEventListener("hashchange", () => show(true));
  await show(false);
}

start().catch((error) => {
  result.replaceChildren(node("p", { class: "error", role: "alert" }, error.message));
});
