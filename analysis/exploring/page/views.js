"use strict";
// The views: the collocates of a word, a difference, a pair.

const classNames = { I: "intersective", S: "subsective", O: "intensional", none: "" };

function unknown(query, words, answer) {
  // The first unknown word is the one to replace; the other side of a difference stays.
  const replaced = words[0] === query.word ? "word" : "other";
  const links = answer.nearest.flatMap((word, place) => [
    place ? ", " : "", node("a", { href: addressOf({ ...query, [replaced]: word }) }, word)]);
  const hints = answer.hints.map((hint) => {
    const address = hint.noun ? addressOf({ adjective: hint.adjective, noun: hint.noun })
      : addressOf({ ...query, [replaced]: hint.word, role: hint.role });
    return node("li", {}, node("a", { href: address }, hint.text));
  });
  const similar = links.length ? [node("p", {}, "Similar words: ", ...links, ".")] : [];
  return node("div", { class: "error" },
    node("p", {}, `No pairs with the ${query.role} “${words.join("” or “")}”.`),
    ...(hints.length ? [node("ul", {}, ...hints)] : []), ...similar);
}

function floorNote(query, answer) {
  const text = `Pairs with a count of ${answer.floor} or more`;
  if (query.floor) return [`${text}.`];
  if (answer.floor === 1) return ["All pairs, because fewer than ten have a count of 3 or more."];
  return [`${text}; `, node("a", { href: addressOf({ ...query, floor: "1" }) }, "show rarer ones"), "."];
}

function perMillion(row) {
  const tokens = (source.about.tokens || {})[row.corpus];
  return tokens && row.count ? (1e6 * row.count) / tokens : null;
}

function measureColumn(query, name) {
  const isSorted = query.measure === name;
  return {
    text: measures[name], kind: isSorted ? "number" : "number wide",
    definition: definitions[name], sorted: isSorted ? "descending" : undefined,
    sort: () => go({ ...query, measure: name }),
    cell: (row) => node("td", { class: isSorted ? "number" : "number wide" }, number(row[name], name)),
  };
}

function countColumns(query) {
  const several = !query.corpus && Object.keys(source.about.corpora).length > 1;
  if (!several) return [{ ...measureColumn(query, "count"), kind: "number",
    cell: (row) => node("td", { class: "number" }, number(row.count)) }];
  return Object.keys(source.about.corpora).sort().map((corpus) => ({
    text: `count in ${corpus}`, kind: "number count", definition: definitions.count,
    sorted: query.measure === "count" && query.sort_corpus === corpus ? "descending" : undefined,
    sort: () => go({ ...query, measure: "count", sort_corpus: corpus }),
    cell: (row) => node("td", { class: "number" }, number(row[`count_${corpus}`])),
  }));
}

function sketchColumns(query, answer) {
  const partner = partnerOf(query.role);
  // Measures may be negative: a bar is as long as its value is above 0.
  const most = Math.max(0, ...answer.rows.map((row) => row[query.measure])) || 1;
  const columns = [
    { text: partner, cell: (row) => node("th", { scope: "row" }, pairLink(row.adjective, row.noun, row[partner])),
      value: (row) => row[partner] },
    { text: `bar of ${measures[query.measure]}`, isHidden: true, kind: "wide",
      cell: (row) => bar(Math.max(0, row[query.measure]) / most) },
    ...["log_dice", "pmi", "npmi"].map((name) => measureColumn(query, name)),
    ...countColumns(query),
  ];
  if (answer.rows.some((row) => perMillion(row) !== null)) {
    columns.push({ text: "per million", kind: "number wide", definition: definitions.per_million,
      value: (row) => perMillion(row) || 0,
      cell: (row) => node("td", { class: "number wide" }, number(perMillion(row), "per_million")) });
  }
  if ("predicative" in answer.rows[0]) {
    columns.push({ text: "predicative", kind: "number", definition: definitions.predicative,
      value: (row) => row.predicative, cell: (row) => node("td", { class: "number" }, number(row.predicative)) });
  }
  columns.push(textColumn("class", (row) => classNames[row.class], "wide"));
  if (!query.corpus && !query.sort_corpus && Object.keys(source.about.corpora).length > 1) {
    columns.push(textColumn("measures of", (row) => row.corpus, "wide name"));
  }
  return columns;
}

function sketch(query, answer) {
  const partner = partnerOf(query.role);
  const what = query.role === "noun" ? "Adjectives" : "Nouns";
  const title = `${what} of “${query.word}”`;
  const heading = node("h2", {}, title);
  if (!answer.rows.length && !Object.keys(answer.words).length) {
    return [heading, unknown(query, [query.word], answer)];
  }
  if (!answer.rows.length) {
    return [heading,
      node("p", { class: "error" }, "No rows with these filters; a lower minimum count or other classes may help.")];
  }
  const counts = Object.entries(answer.words).map(([corpus, count]) => `${number(count)} in ${corpus}`);
  const caption = `${number(answer.rows.length)} of ${number(answer.total)} ${partner}s by ${measures[query.measure]}`
    + (query.sort_corpus ? ` in ${query.sort_corpus}` : "");
  const points = answer.rows.filter((row) => row.pmi !== null);
  const chart = scatter(points, partner, query.measure,
    `${title}: count against PMI; the table has the same values`);
  const address = source.address && source.address("rows.tsv", query);
  return [heading,
    node("p", { class: "note" }, `Pairs with “${query.word}”: ${counts.join(", ")}. `, ...floorNote(query, answer),
      ...similarLink(query)),
    tools(`${query.role}-${query.word}`, answer.rows, chart, address),
    table(caption, sketchColumns(query, answer), answer.rows),
    node("h3", {}, "Count against PMI"), chart, command(answer.command)];
}

// A static copy cannot compare words: it lacks the rows of all of them.
function similarLink(query) {
  if (!source.similar) return [];
  const address = addressOf({ role: query.role, word: query.word, corpus: query.corpus, similar: "true" });
  const plural = query.role === "noun" ? "Nouns" : "Adjectives";
  return [" ", node("a", { href: address }, `${plural} with similar collocates`), "."];
}

function similarView(query, answer) {
  const title = `${query.role === "noun" ? "Nouns" : "Adjectives"} similar to “${query.word}”`;
  const heading = node("h2", {}, title);
  if (!Object.keys(answer.words).length) return [heading, unknown(query, [query.word], answer)];
  if (!answer.rows.length) return [heading, node("p", { class: "error" }, `No ${query.role} shares a collocate.`)];
  const compare = (row) => node("a", { href: addressOf({ role: query.role, word: query.word, other: row.word, corpus: query.corpus }) },
    row.collocates);
  const columns = [
    { text: query.role, value: (row) => row.word, cell: (row) => node("th", { scope: "row" },
      node("a", { href: addressOf({ role: query.role, word: row.word }) }, row.word)) },
    { text: "bar of the similarity", isHidden: true, kind: "wide", cell: (row) => bar(row.similarity) },
    { text: "similarity", kind: "number", definition: definitions.similarity, sorted: "descending",
      value: (row) => row.similarity, cell: (row) => node("td", { class: "number" }, number(row.similarity, "cosine")) },
    { text: "shared", kind: "number wide", definition: "The number of collocates of both words, among the 1,000 strongest of each.",
      value: (row) => row.shared, cell: (row) => node("td", { class: "number wide" }, number(row.shared)) },
    textColumn("strongest shared collocates: compare", compare),
  ];
  return [heading, node("p", { class: "note" }, `In ${answer.corpus}. `,
    node("a", { href: addressOf({ role: query.role, word: query.word, corpus: query.corpus }) }, `The collocates of “${query.word}”`), "."),
  tools(`similar-${query.word}`, answer.rows, null, null),
  table(`${number(answer.rows.length)} ${query.role}s by similarity`, columns, answer.rows)];
}

function differenceColumns(query, sides, block, most) {
  const partner = partnerOf(query.role);
  const secondWord = query.other || query.word;
  const link = (row) => {
    const word = block === "second" ? secondWord : query.word;
    return query.role === "noun" ? pairLink(row.word, word, row.word) : pairLink(word, row.word, row.word);
  };
  const side = (name, sideName, kind, text = sideName) => ({
    text, kind, definition: `${measures[query.measure]} with ${sideName}. ${definitions[query.measure]}`,
    value: (row) => row[name],
    cell: (row) => node("td", { class: kind }, number(row[name], query.measure)),
  });
  const count = (name, text) => ({
    text, kind: "number", definition: definitions.count, value: (row) => row[name],
    cell: (row) => node("td", { class: "number" }, number(row[name])),
  });
  const contrast = {
    text: "contrast", kind: "number", definition: definitions.contrast, sorted: "descending",
    value: (row) => row.contrast, cell: (row) => node("td", { class: "number" }, number(row.contrast, "contrast")),
  };
  const word = { text: partner, value: (row) => row.word, cell: (row) => node("th", { scope: "row" }, link(row)) };
  if (block !== "both") {
    return [word, side(block, sides[block === "first" ? 0 : 1], "number wide", measures[query.measure]), count(`${block}_count`, "count"), contrast];
  }
  return [word,
    { text: "difference", kind: "number", definition: definitions.difference, value: (row) => row.difference,
      cell: (row) => node("td", { class: "number" }, number(row.difference, query.measure)) },
    { text: "bar of the difference", isHidden: true, kind: "wide",
      cell: (row) => bar(Math.abs(row.difference) / most, row.difference < 0 ? "second" : "first") },
    side("first", sides[0], "number wide"), side("second", sides[1], "number wide"),
    textColumn("counts", (row) => `${number(row.first_count)} / ${number(row.second_count)}`, "number"), contrast];
}

function difference(query, answer) {
  const sides = [query.word, query.other || query.word];
  if (query.other_corpus) {
    sides[0] += ` (${query.corpus})`;
    sides[1] += ` (${query.other_corpus})`;
  }
  const title = `“${sides[0]}” compared with “${sides[1]}”`;
  if (answer.unknown.length) return [node("h2", {}, title), unknown(query, answer.unknown, answer)];
  if (!answer.rows.length) {
    return [node("h2", {}, title), node("p", { class: "error" }, "No rows with these filters.")];
  }
  const partner = partnerOf(query.role);
  const members = (block) => answer.rows.filter((row) => row.block === block);
  const most = Math.max(0, ...members("both").map((row) => Math.abs(row.difference))) || 1;
  const names = { first: `Only “${sides[0]}”`, both: "Both", second: `Only “${sides[1]}”` };
  const blocks = Object.keys(names).map((block) => {
    const rows = members(block);
    const content = rows.length
      ? table(`${names[block]}: ${number(rows.length)} of ${number(answer.totals[block])} ${partner}s`,
        differenceColumns(query, sides, block, most), rows)
      : node("p", { class: "note" }, `No ${partner}s.`);
    return node("section", { class: `block ${block}` }, node("h3", {}, names[block]), content);
  });
  // The strongest contrasts of each direction.
  const lines = members("both").filter((row) => row.difference >= 0).slice(0, 20)
    .concat(members("both").filter((row) => row.difference < 0).slice(0, 20))
    .sort((one, other) => other.difference - one.difference);
  const chart = lines.length && bars(lines.map((row) => ({
    name: row.word, value: row.difference, text: number(row.difference, query.measure),
  })), `${title}: differences of ${measures[query.measure]}; the table has the same values`);
  const address = source.address && source.address("rows.tsv", query);
  const corpora = Object.keys(source.about.corpora);
  const note = query.corpus || corpora.length < 2 ? ""
    : " Counts and contrasts are those of all corpora, measures those of the corpus where they are greatest.";
  return [node("h2", {}, title), node("p", { class: "note" }, ...floorNote(query, answer),
      ` The strongest contrasts come first.${note}`),
    tools(`${query.word}-${query.other || query.other_corpus}`, answer.rows, chart, address),
    node("div", { class: "blocks" }, ...blocks),
    ...(lines.length ? [node("h3", {}, `Differences of ${measures[query.measure]}`), chart] : []),
    command(answer.command)];
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
    const column = (text, name, value = (row) => row[name], kind = name) => ({
      text, kind: "number", definition: definitions[name], value,
      cell: (row) => node("td", { class: "number" }, number(value(row), kind)),
    });
    const columns = [
      { text: "corpus", cell: (row) => node("th", { scope: "row" }, row.corpus), value: (row) => row.corpus },
      column("count", "count"), column("per million", "per_million", perMillion),
      column(`${adjective} …`, "adjective_count", undefined, "count"),
      column(`… ${noun}`, "noun_count", undefined, "count"),
      column("PMI", "pmi"), column("NPMI", "npmi"), column("logDice", "log_dice"),
    ];
    parts.push(tools(title.replace(" ", "-"), answer.rows, chart, null),
      table("Counts and association", columns, answer.rows), chart);
  }
  parts.push(...exampleParts(adjective, answer));
  parts.push(node("h3", {}, "Items in the datasets"), ...itemParts(answer));
  if (source.about.lake !== undefined) {
    const words = ["adnominal", "lake", "why", adjective, noun, `lake=${source.about.lake}`];
    parts.push(command(shellJoin(words)));
  }
  return parts;
}

function exampleParts(adjective, answer) {
  const heading = node("h3", {}, "Example sentences");
  if (!answer.examples.length) {
    return [heading, node("p", { class: "note" }, "None are stored; adnominal extract … examples=3 stores some.")];
  }
  const occurrences = answer.rows.reduce((sum, row) => sum + row.count, 0);
  const text = `${number(answer.examples.length)} of ${number(answer.examples_total)} stored sentences; `
    + `the pair occurs ${number(occurrences)} times.`;
  const list = node("div", { class: "examples" }, ...answer.examples.map((row) => node("blockquote", {},
    ...sentenceParts(row.sentence, adjective, answer.noun_forms),
    node("cite", {}, documentLink(row.document), ` (${row.corpus})`))));
  const toggle = node("input", { type: "checkbox", onchange: (event) => {
    list.classList.toggle("aligned", event.target.checked);
  } });
  return [heading, node("p", { class: "note" }, text),
    node("p", {}, node("label", {}, toggle, " Key words in context")), list];
}

function documentLink(text) {
  if (!/^https?:\/\//.test(text || "")) return text || "";
  return node("a", { href: text, rel: "noreferrer", target: "_blank" }, text);
}

// The sentence in three parts: before the pair, the pair with both words marked, after it.
function sentenceParts(sentence, adjective, nounForms) {
  const [first, second] = pairPlaces(sentence, adjective, nounForms);
  if (!first) return [node("span", { class: "left" }, sentence)];
  const mark = (place) => node("mark", {}, sentence.slice(place.start, place.end));
  const inner = second ? [mark(first), sentence.slice(first.end, second.start), mark(second)] : [mark(first)];
  const end = (second || first).end;
  return [node("span", { class: "left" }, node("bdi", {}, sentence.slice(0, first.start))),
    node("span", { class: "middle" }, ...inner),
    node("span", { class: "right" }, sentence.slice(end))];
}

// Where the adjective and the noun are, in order of the text: those nearest to each other.
function pairPlaces(sentence, adjective, nounForms) {
  const places = (word) => {
    const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const expression = new RegExp(`(?<![\\p{L}\\p{N}])${escaped}(?![\\p{L}\\p{N}])`, "giu");
    return [...sentence.matchAll(expression)].map((match) => ({ start: match.index, end: match.index + match[0].length }));
  };
  const adjectives = places(adjective);
  const nouns = nounForms.flatMap(places);
  let best = [adjectives[0] || nouns[0]];
  let nearest = Infinity;
  for (const one of adjectives) {
    for (const other of nouns) {
      // A noun before its adjective is rarer, so it counts as farther away.
      const distance = other.start >= one.end ? other.start - one.end : 40 + one.start - other.end;
      const overlaps = other.start < one.end && one.start < other.end;
      if (!overlaps && distance < nearest) {
        nearest = distance;
        best = one.start < other.start ? [one, other] : [other, one];
      }
    }
  }
  return best;
}

function itemParts(answer) {
  if (!answer.items.length) return [node("p", { class: "note" }, "No dataset has an item with this pair.")];
  const predictions = new Map();
  for (const row of answer.predictions) {
    const model = row.external ? `${row.model} (external)` : row.model;
    const label = row.predicted || "no label";
    predictions.set(row.item_id, [...(predictions.get(row.item_id) || []), `${model}: ${label}`]);
  }
  const columns = [
    { text: "dataset", cell: (item) => node("th", { scope: "row" }, `${item.dataset} (${item.edition})`) },
    textColumn("first text", (item) => item.first), textColumn("second text", (item) => item.second),
    textColumn("label", (item) => item.label),
    textColumn("predicted", (item) => (predictions.get(item.item_id) || ["–"]).join("; ")),
  ];
  return [table(`${number(answer.items.length)} items`, columns, answer.items)];
}
