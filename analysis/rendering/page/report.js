const box = document.querySelector(".search");
const sections = [...document.querySelectorAll("section")];
box.hidden = false;
box.querySelector("input").addEventListener("input", (event) => {
  const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const section of sections) {
    const text = section.textContent.toLowerCase();
    section.hidden = !words.every((word) => text.includes(word));
  }
  const found = sections.filter((section) => !section.hidden).length;
  box.querySelector("output").textContent = words.length ? `${found} of ${sections.length}` : "";
});
function save(name, address) {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
}
for (const figure of document.querySelectorAll("figure")) {
  const svg = figure.querySelector("svg");
  const address = () => "data:image/svg+xml;charset=utf-8,"
    + encodeURIComponent(new XMLSerializer().serializeToString(svg));
  const button = (text, action) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.addEventListener("click", action);
    figure.append(made);
  };
  button("Save as SVG", () => save(`${figure.id}.svg`, address()));
  button("Save as PNG", async () => {
    const picture = new Image();
    picture.src = address();
    await picture.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [2 * picture.width, 2 * picture.height];
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    save(`${figure.id}.png`, canvas.toDataURL("image/png"));
  });
}
