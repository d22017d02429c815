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
      && (!classes.length || classes.includes(row.class)));
    return { rows, known: Boolean(entry), words: entry ? entry.words : {} };
  }

  async rows(asked) {
    const [word, other] = [await this.known(asked.role, asked.word), await this.known(asked.role, asked.other)];
    const query = { ...asked, word, other };
    const limit = Number(query.limit) || Infinity;
    const floor = Number(query.floor);
    const partner = partnerOf(query.role);
    const first = await this.all(query, query.word, query.corpus);
    const near = async (word, known) => (known ? [] : this.nearest(query.role, word));
    const command = this.command(query);
    if (!query.other && !query.other_corpus) {
      const rows = first.rows.filter((row) => row.count >= floor);
      rows.sort((one, other) => other[query.measure] - one[query.measure]
        || (one[partner] < other[partner] ? -1 : 1));
      const nearest = await near(query.word, first.known);
      return {
        rows: rows.slice(0, limit), total: rows.length, words: first.words, word, other, nearest, command,
      };
    }
    const secondWord = other || word;
    const second = await this.all(query, secondWord, query.other_corpus || query.corpus);
    const rows = differences(first.rows, second.rows, partner, query.measure, floor);
    const shown = rows.slice(0, limit).sort((one, other) => other.difference - one.difference);
    const unknown = [[word, first], [secondWord, second]].filter(([, side]) => !side.known);
    const nearest = unknown.length ? await near(unknown[0][0], false) : [];
    return {
      rows: shown, total: rows.length, unknown: unknown.map(([name]) => name), word, other, nearest, command,
    };
  }

  async pair(adjective, noun) {
    const query = { role: "noun", classes: "" };
    const { rows } = await this.all(query, noun, "");
    const found = await this.entry("pair", `${adjective} ${noun}`);
    return {
      examples: [], items: [], predictions: [], ...found,
      rows: rows.filter((row) => row.adjective === adjective),
    };
  }

  command(query) {
    const words = ["adnominal", "explore", `${query.role}=${query.word}`];
    for (const name of ["other", "corpus", "other_corpus"]) {
      if (query[name]) words.push(`${name}=${query[name]}`);
    }
    // Rarer pairs are not in the files.
    const floor = Math.max(query.floor, this.about.min_count);
    words.push(`measure=${query.measure}`, `floor=${floor}`);
    if (query.classes) words.push(`classes=${query.classes}`);
    words.push(`limit=${query.limit}`);
    return shellJoin(words);
  }
}

// The words of a command as a shell reads them, whatever a word of a corpus holds.
function shellJoin(words) {
  const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word)
    ? word : `'${word.replaceAll("'", "'\"'\"'")}'`);
  return words.map(quoted).join(" ");
}

// A pair that reaches the floor on either side, with what both sides have.
function differences(first, second, partner, measure, floor) {
  const precedes = (row, known) => ((row.count >= floor) - (known.count >= floor)
    || row[measure] - known[measure]) > 0;
  const best = (rows) => {
    const found = new Map();
    for (const row of rows) {
      const known = found.get(row[partner]);
      if (!known || precedes(row, known)) found.set(row[partner], row);
    }
    return found;
  };
  const [one, other] = [best(first), best(second)];
  const rows = [...new Set([...one.keys(), ...other.keys()])].map((word) => {
    const [left, right] = [one.get(word), other.get(word)];
    return {
      word,
      first: left ? left[measure] : null, first_count: left ? left.count : 0,
      second: right ? right[measure] : null, second_count: right ? right.count : 0,
      difference: (left ? left[measure] : 0) - (right ? right[measure] : 0),
      class: partner === "adjective" ? (left || right).class : "",
    };
  }).filter((row) => Math.max(row.first_count, row.second_count) >= floor);
  return rows.sort((a, b) => Math.abs(b.difference) - Math.abs(a.difference)
    || (a.word < b.word ? -1 : 1));
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
