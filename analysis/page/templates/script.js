const sections = [...document.querySelectorAll("section")];
const search = document.querySelector(".search");
search.hidden = false;
search.querySelector("input").addEventListener("input", (event) => {
  const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const section of sections) {
    const text = section.textContent.toLowerCase();
    section.hidden = !words.every((word) => text.includes(word));
  }
  const found = sections.filter((section) => !section.hidden);
  // A fold opens where it has one of the words, so that nothing that is found stays hidden.
  for (const fold of document.querySelectorAll("main details")) {
    const text = fold.textContent.toLowerCase();
    fold.open = words.some((word) => text.includes(word));
  }
  search.querySelector("output").textContent = words.length ? `${found.length} of ${sections.length}` : "";
});

window.addEventListener("beforeprint", () => {
  for (const fold of document.querySelectorAll("main details")) fold.open = true;
});

function save(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

const numbers = document.querySelector("#numbers");
numbers.hidden = false;
numbers.addEventListener("click", () => {
  const text = document.querySelector("#numbers-data").textContent
    .replaceAll("<\\/", "</")
    .replaceAll("<\\!--", "<!--");
  save("report_numbers.tsv", new Blob([text], { type: "text/tab-separated-values" }));
});

// A saved figure stands on white paper, so that it needs no style sheet: variables become colours.
function standalone(figure) {
  const copy = figure.querySelector("svg").cloneNode(true);
  const light = {
    "--text": "#1b1b1b", "--grid": "#e5e5e5", "--series-0": "#0072b2", "--series-1": "#d55e00",
    "--series-2": "#009e73", "--series-3": "#cc79a7", "--series-4": "#e69f00", "--series-5": "#56b4e9",
  };
  let text = new XMLSerializer().serializeToString(copy);
  for (const [name, colour] of Object.entries(light)) text = text.replaceAll(`var(${name})`, colour);
  return text;
}

for (const figure of document.querySelectorAll("figure")) {
  const button = (text, action) => {
    const element = document.createElement("button");
    element.type = "button";
    element.textContent = text;
    element.addEventListener("click", action);
    figure.append(element);
  };
  button("Save as SVG", () =>
    save(`${figure.id}.svg`, new Blob([standalone(figure)], { type: "image/svg+xml" })));
  button("Save as PNG", async () => {
    const picture = new Image();
    picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(standalone(figure))}`;
    await picture.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [2 * picture.width, 2 * picture.height];
    const drawing = canvas.getContext("2d");
    drawing.fillStyle = "#fff";
    drawing.fillRect(0, 0, canvas.width, canvas.height);
    drawing.drawImage(picture, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save(`${figure.id}.png`, blob));
  });
}
