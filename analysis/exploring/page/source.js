"use strict";
// The source of rows: the server's API or the files of a static copy, with the same answers.

const roles = ["noun", "adjective"];

function partnerOf(role) {
  return roles[1 - roles.indexOf(role)];
}

class ServerSource {
  static async open() {
    const source = new ServerSource();
    source.about = await source.get("about", {});
    return source;
  }

  address(name, values) {
    return `api/${name}?${new URLSearchParams(values)}`;
  }

  async get(name, values) {
    const answer = await fetch(this.address(name, values));
    if (!answer.ok) throw new Error(await answer.text());
    return answer.json();
  }

  suggest(role, word) { return this.get("suggest", { role, word }); }
  rows(query) { return this.get("rows", query); }
  pair(adjective, noun) { return this.get("pair", { adjective, noun }); }
  similar(query) { return this.get("similar", { role: query.role, word: query.word, corpus: query.corpus }); }
}

class StaticSource {
  static async open() {
    const source = new StaticSource();
    source.files = new Map();
    source.waiting = new Map();
    window.adnominalData = (name, data) => source.waiting.get(name)(data);
    const about = await source.load("about");
    source.first = about.first;
    const corpora = Object.fromEntries(about.corpora.map((name) => [name, null]));
    source.about = { ...about, corpora };
    source.names = about.corpora;
    return source;
  }

  load(name) {
    if (!this.files.has(name)) {
      this.files.set(name, new Promise((resolve, reject) => {
        this.waiting.set(name, resolve);
        const script = document.createElement("script");
        script.src = `data/${name}.js`;
        script.onerror = () => reject(new Error(`${script.src} cannot be read`));
        document.head.append(script);
      }));
    }
    return this.files.get(name);
  }

  // The number of the file that must contain a word: the last that does not start after it.
  place(kind, word) {
    const first = this.first[kind];
    let low = 0, high = first.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (first[middle] <= word) low = middle + 1; else high = middle;
    }
    return low - 1;
  }

  async entry(kind, word) {
    const place = this.place(kind, word);
    if (place < 0) return undefined;
    const entries = await this.load(`${kind}/${place}`);
    return Object.hasOwn(entries, word) ? entries[word] : undefined;
  }

  async wordsNear(role, prefix) {
    const kind = `${role}-words`;
    const from = Math.max(0, this.place(kind, prefix));
    const to = Math.min(this.place(kind, prefix + "\uffff"), from + 3);
    const found = [];
    for (let place = from; place <= to; place += 1) {
      const words = await this.load(`${kind}/${place}`);
      for (const [word, count] of Object.entries(words)) {
        if (word.startsWith(prefix)) found.push({ word, count });
      }
    }
    return found.sort((one, other) => other.count - one.count);
  }

  async suggest(role, word) {
    return word ? (await this.wordsNear(role, word)).slice(0, 12) : [];
  }

  // The spelling of a word in the files: as it is, in NFC or in lower case.
  async known(role, word) {
    const composed = word.normalize("NFC");
    for (const one of [word, composed, composed.toLowerCase()]) {
      if (await this.entry(role, one)) return one;
    }
    return word;
  }

  async nearest(role, unknown) {
    const word = unknown.normalize("NFC").toLowerCase();
    const alike = await this.wordsNear(role, word.slice(0, 1));
    const far = alike
      .filter((one) => Math.abs(one.word.length - word.length) <= 2)
      .map((one) => [distance(one.word, word), -one.count, one.word])
      .filter(([edits]) => edits <= Math.max(1, Math.floor(word.length / 3)));
    far.sort((one, other) => one[0] - other[0] || one[1] - other[1]);
    return far.slice(0, 5).map((one) => one[2]);
  }

  async all(query, word, corpus) {
    const entry = await this.entry(query.role, word);
    const classes = query.classes ? query.classes.split(",") : [];
    const rows = (entry ? entry.rows : []).map((row) => ({
      corpus: this.names[row[0]],
      adjective: query.role === "noun" ? row[1] : word,
      noun: query.role === "noun" ? word : row[1],
      count: row[2],
      adjective_count: query.role === "noun" ? row[3] : entry.words[this.names[row[0]]],
      noun_count: query.role === "noun" ? entry.words[this.names[row[0]]] : row[3],
      pmi: row[4], npmi: row[5], log_dice: row[6], class: row[7],
    })).filter((row) => (!corpus || row.corpus === corpus)
      && (!classes.length || classes.includes(row.class))
      && (query.hide_determiners !== "true" || query.role === "adjective"
        || !this.about.determiners.includes(row.adjective)));
    return { rows, known: Boolean(entry), words: entry ? entry.words : {} };
  }

  async rows(asked) {
    const [word, other] = [await this.known(asked.role, asked.word), await this.known(asked.role, asked.other)];
    const query = { ...asked, word, other };
    const first = await this.all(query, query.word, query.corpus);
    const answer = query.other || query.other_corpus
      ? await this.difference(query, first) : await this.collocates(query, first);
    answer.command = this.command(query, answer.floor);
    return { ...answer, word, other };
  }

  async collocates(query, first) {
    const partner = partnerOf(query.role);
    const isMerged = !query.corpus && this.names.length > 1;
    const merged = merge(first.rows, query, Number(query.floor) || 1);
    const floor = Number(query.floor) || this.defaultFloor([...merged.values()].map((one) => one.most));
    const members = [...merge(first.rows, query, floor).values()].filter((one) => one.most >= floor);
    members.sort((one, other) => other.value - one.value
      || (one.row[partner] < other.row[partner] ? -1 : 1));
    const rows = members.slice(0, Number(query.limit) || Infinity).map((one) => {
      const row = { ...one.row };
      if (!isMerged) return row;
      for (const corpus of this.names) row[`count_${corpus}`] = one.counts[corpus] || 0;
      if (query.sort_corpus && row.corpus !== query.sort_corpus) {
        Object.assign(row, { pmi: null, npmi: null, log_dice: null, corpus: query.sort_corpus, count: 0 });
      }
      return row;
    });
    const help = first.known ? { nearest: [], hints: [] } : await this.help(query.role, query.word);
    return { rows, total: members.length, floor, words: first.words, ...help };
  }

  async difference(query, first) {
    const secondWord = query.other || query.word;
    const second = await this.all(query, secondWord, query.other_corpus || query.corpus);
    const counts = new Map();
    const partner = partnerOf(query.role);
    for (const row of [...first.rows, ...second.rows]) {
      counts.set(row[partner], Math.max(row.count, counts.get(row[partner]) || 0));
    }
    const floor = Number(query.floor) || this.defaultFloor([...counts.values()]);
    const all = differences(first.rows, second.rows, query, floor);
    const totals = {};
    const rows = ["first", "both", "second"].flatMap((block) => {
      const members = all.filter((row) => row.block === block);
      totals[block] = members.length;
      return members.slice(0, Number(query.limit) || Infinity);
    });
    const unknown = [[query.word, first], [secondWord, second]]
      .filter(([, side]) => !side.known).map(([name]) => name);
    const help = unknown.length ? await this.help(query.role, unknown[0]) : { nearest: [], hints: [] };
    return { rows, total: all.length, totals, floor, unknown, ...help };
  }

  // As on the server: 3, or 1 where fewer than ten collocates remain; rarer pairs are not here.
  defaultFloor(counts) {
    const frequent = counts.filter((count) => count >= 3).length;
    return Math.max(this.about.min_count, frequent >= 10 ? 3 : 1);
  }

  async help(role, word) {
    const hints = await this.hints(role, word);
    return { nearest: hints.length ? [] : await this.nearest(role, word), hints };
  }

  // What may have been meant: the other role, a plural, or a pair.
  async hints(role, text) {
    const typed = text.toLowerCase();
    const parts = typed.split(/\s+/);
    if (parts.length > 1) {
      const [adjective, noun] = parts.slice(-2);
      if (!await this.entry("adjective", adjective)) return [];
      const nouns = await this.knownForms("noun", [noun, ...singulars(noun)]);
      return nouns.map((one) => ({
        text: `${adjective} ${one} is an adjective and a noun: show the pair`, adjective, noun: one,
      }));
    }
    const other = partnerOf(role);
    const found = [];
    if (await this.entry(other, typed)) {
      const article = other === "noun" ? "a noun" : "an adjective";
      found.push({ text: `${typed} is ${article}: show its ${role}s`, role: other, word: typed });
    }
    for (const lemma of await this.knownForms("noun", singulars(typed))) {
      found.push({ text: `${typed} is a form of ${lemma}`, role: "noun", word: lemma });
    }
    return found;
  }

  async knownForms(role, words) {
    const known = [];
    for (const word of words) if (await this.entry(role, word)) known.push(word);
    return known;
  }

  async pair(adjective, noun) {
    const query = { role: "noun", classes: "" };
    const { rows } = await this.all(query, noun, "");
    const found = await this.entry("pair", `${adjective} ${noun}`);
    return {
      examples: [], examples_total: 0, noun_forms: [noun], items: [], predictions: [], ...found,
      rows: rows.filter((row) => row.adjective === adjective),
    };
  }

  command(query, shownFloor) {
    const words = ["adnominal", "explore", `${query.role}=${query.word}`];
    for (const name of ["other", "corpus", "other_corpus"]) {
      if (query[name]) words.push(`${name}=${query[name]}`);
    }
    words.push(`measure=${query.measure}`);
    if (query.sort_corpus) words.push(`sort_corpus=${query.sort_corpus}`);
    // Rarer pairs are not in the files.
    words.push(`floor=${Math.max(shownFloor, this.about.min_count)}`);
    if (query.classes) words.push(`classes=${query.classes}`);
    words.push(`limit=${query.limit}`);
    if (query.hide_determiners) words.push("hide_determiners=true");
    return shellJoin(words);
  }
}

// The words of a command as a shell reads them, whatever a word of a corpus holds.
function shellJoin(words) {
  const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word)
    ? word : `'${word.replaceAll("'", "'\"'\"'")}'`);
  return words.map(quoted).join(" ");
}

// The singulars that a plural may have by its spelling.
function singulars(word) {
  const endings = [["ies", "y"], ["ves", "f"], ["es", ""], ["s", ""], ["men", "man"]];
  return endings.filter(([plural]) => word.endsWith(plural))
    .map(([plural, singular]) => word.slice(0, -plural.length) + singular);
}

// One row for each partner word, from the corpus that represents it: the one to sort by, or else
// the one where the measure is greatest; corpora whose counts reach the floor come first.
function merge(rows, query, floor) {
  const partner = partnerOf(query.role);
  const rank = (row) => [row.corpus === query.sort_corpus ? 1 : 0, row.count >= floor ? 1 : 0, row[query.measure]];
  const precedes = (row, other) => {
    const [one, two] = [rank(row), rank(other)];
    const place = one.findIndex((value, index) => value !== two[index]);
    return place >= 0 && one[place] > two[place];
  };
  const merged = new Map();
  for (const row of rows) {
    const known = merged.get(row[partner]) || { row, most: 0, sum: 0, counts: {} };
    if (precedes(row, known.row)) known.row = row;
    known.most = Math.max(known.most, row.count);
    known.sum += row.count;
    known.counts[row.corpus] = row.count;
    const isOther = query.sort_corpus && known.row.corpus !== query.sort_corpus;
    known.value = isOther ? -Infinity : known.row[query.measure];
    merged.set(row[partner], known);
  }
  return merged;
}

// The log-likelihood ratio of two counts out of totals (Dunning 1993).
function contrast(first, second, firstTotal, secondTotal) {
  const share = (first + second) / Math.max(1, firstTotal + secondTotal);
  const part = (count, observed, expected) => (count > 0 && observed > 0 && expected > 0
    ? count * Math.log(observed / expected) : 0);
  let sum = 0;
  for (const [count, total] of [[first, firstTotal], [second, secondTotal]]) {
    const own = count / Math.max(1, total);
    sum += part(count, own, share) + part(total - count, 1 - own, 1 - share);
  }
  return 2 * Math.max(0, sum);
}

// A pair that reaches the floor on either side, with what both sides have.
function differences(first, second, query, floor) {
  const partner = partnerOf(query.role);
  const total = (rows) => {
    const totals = new Map(rows.map((row) => [row.corpus, row[`${query.role}_count`]]));
    return [...totals.values()].reduce((sum, count) => sum + count, 0);
  };
  const [firstTotal, secondTotal] = [total(first), total(second)];
  const unsorted = { ...query, sort_corpus: "" };
  const [one, other] = [merge(first, unsorted, floor), merge(second, unsorted, floor)];
  const reachesFloor = (word) => [one, other].some((side) => side.has(word) && side.get(word).most >= floor);
  const words = [...new Set([...one.keys(), ...other.keys()])].filter(reachesFloor);
  const rows = words.map((word) => {
    const [left, right] = [one.get(word), other.get(word)];
    const [leftRow, rightRow] = [left ? left.row : null, right ? right.row : null];
    return {
      word,
      first: leftRow ? leftRow[query.measure] : null, first_count: left ? left.sum : 0,
      second: rightRow ? rightRow[query.measure] : null, second_count: right ? right.sum : 0,
      difference: leftRow && rightRow ? leftRow[query.measure] - rightRow[query.measure] : null,
      contrast: contrast(left ? left.sum : 0, right ? right.sum : 0, firstTotal, secondTotal),
      block: leftRow && rightRow ? "both" : leftRow ? "first" : "second",
      class: partner === "adjective" ? (leftRow || rightRow).class : "",
    };
  });
  return rows.sort((a, b) => b.contrast - a.contrast || (a.word < b.word ? -1 : 1));
}

// Number of edits that turn one word into the other (Levenshtein).
function distance(one, other) {
  let row = Array.from({ length: other.length + 1 }, (_, place) => place);
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const cost = one[i - 1] === other[j - 1] ? 0 : 1;
      next.push(Math.min(next[j - 1] + 1, row[j] + 1, row[j - 1] + cost));
    }
    row = next;
  }
  return row[other.length];
}
