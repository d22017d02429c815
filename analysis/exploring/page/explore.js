"use strict";
// The page: the part of the address after the # defines the view, so that every view has a link.

const form = document.getElementById("query");
const result = document.getElementById("result");
const defaults = {
  role: "noun", word: "", other: "", corpus: "", other_corpus: "", measure: "log_dice",
  floor: "", classes: "", limit: "100", sort_corpus: "", hide_determiners: "", fold: "",
};
let source;
let newest = 0;

function queryOfAddress() {
  const values = new URLSearchParams(location.hash.slice(1));
  const query = { ...defaults };
  for (const name of Object.keys(defaults)) if (values.has(name)) query[name] = values.get(name);
  return { query, adjective: values.get("adjective"), noun: values.get("noun"), similar: values.has("similar") };
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
  // Only the rows of all corpora are ordered by one of them.
  if (query.corpus || query.other || query.other_corpus) query.sort_corpus = "";
  return query;
}

function fillForm(query) {
  for (const [name, value] of Object.entries(query)) {
    if (name === "classes") {
      const classes = value.split(",");
      for (const box of form.elements.classes) box.checked = classes.includes(box.value);
    } else if (name === "role") {
      for (const choice of form.elements.role) choice.checked = choice.value === value;
    } else if (form.elements[name].type === "checkbox") {
      form.elements[name].checked = value === "true";
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
  const { corpus, other, other_corpus: otherCorpus } = form.elements;
  form.elements.sort_corpus.disabled = Boolean(corpus.value || other.value || otherCorpus.value);
}

// Open a view; what was focused stays so, because the form and the heads of columns remain.
let keepsFocus = false;
function go(query) {
  const address = addressOf(query);
  if (address === location.hash) {
    show(false);
    return;
  }
  keepsFocus = true;
  location.hash = address;
}

// Order, filters and corpora apply at once; words apply when they are submitted.
function applyChange(event) {
  requireCorpus();
  const isWord = ["word", "other", "role"].includes(event.target.name);
  if (isWord || !form.checkValidity()) return;
  const query = queryOfForm();
  // Of the form, only the corpus applies to similar words.
  const staysSimilar = queryOfAddress().similar && event.target.name === "corpus";
  go(staysSimilar ? { ...query, similar: "true" } : query);
}

async function show(focus) {
  const { query, adjective, noun, similar } = queryOfAddress();
  newest += 1;
  const mine = newest;
  result.setAttribute("aria-busy", "true");
  let parts = [];
  try {
    if (adjective && noun) parts = pairView(adjective, noun, await source.pair(adjective, noun));
    else if (query.word && similar && source.similar) {
      fillForm(query);
      const answer = await source.similar(query);
      parts = similarView({ ...query, word: answer.word }, answer);
    } else if (query.word) {
      fillForm(query);
      const answer = await source.rows(query);
      const view = query.other || query.other_corpus ? difference : sketch;
      form.elements.floor.placeholder = answer.floor;
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
  const hadFocus = result.contains(document.activeElement) && document.activeElement.matches(".sort");
  result.replaceChildren(...parts);
  result.setAttribute("aria-busy", "false");
  const heading = result.querySelector("h2");
  document.title = heading ? `${heading.textContent} – Word sketches` : "Word sketches";
  if (focus) result.focus({ preventScroll: true });
  if (focus) window.scrollTo(0, 0);
  const sorted = result.querySelector("[aria-sort] button");
  if (hadFocus && !focus && sorted) sorted.focus();
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
  for (const name of ["corpus", "other_corpus", "sort_corpus"]) {
    form.elements[name].append(...Object.keys(corpora).sort().map((one) => node("option", { value: one }, one)));
  }
  form.elements.sort_corpus.parentElement.hidden = Object.keys(corpora).length < 2;
  // The files of a static copy do not have the counts of words that folding needs.
  document.getElementById("fold").hidden = isStatic;
  document.getElementById("filters").open = window.matchMedia("(min-width: 40.01rem)").matches;
  const tokens = source.about.tokens || {};
  const sizes = Object.entries(corpora).map(([name, rows]) => {
    const facts = [];
    if (tokens[name]) facts.push(`${number(tokens[name])} tokens`);
    if (rows !== null) facts.push(`${number(rows)} pairs`);
    return facts.length ? `${name} (${facts.join(", ")})` : name;
  });
  document.getElementById("about").textContent = `Adjective–noun pairs of ${sizes.join(", ")}`
    + (source.about.min_count > 1 ? `; counts of ${source.about.min_count} and more.` : ".");
  form.addEventListener("input", suggest);
  // Someone may have typed while the server was asked what it has.
  if (document.activeElement.form === form) suggest({ target: document.activeElement });
  form.addEventListener("change", applyChange);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const address = addressOf(queryOfForm());
    if (address === location.hash) show(true); else location.hash = address;
  });
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // the address belongs to the view
    result.focus();
  });
  window.addEventListener("hashchange", () => {
    show(!keepsFocus);
    keepsFocus = false;
  });
  await show(false);
}

start().catch((error) => {
  result.replaceChildren(node("p", { class: "error", role: "alert" }, error.message));
});
