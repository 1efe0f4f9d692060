// Looks at pages in a frame, one after the other, and posts what is wrong with each.
//
// The frame has the width of a telephone or of a laptop, and both themes are tried. The page around
// it may look inside, because both come from the same server. `check` returns a list of
// [kind, text] for the page as it is laid out now; `checkPage` combines the widths and themes.

const SIZES = [[1280, 900], [390, 844]];
const THEMES = ["light", "dark"];

async function checkPage(frame, address) {
  await new Promise((resolve) => {
    frame.onload = resolve;
    frame.src = address;
  });
  const view = frame.contentWindow, page = frame.contentDocument;
  await page.fonts.ready;
  await view.MathJax?.startup?.promise;
  for (const details of page.querySelectorAll("article details")) details.open = true;
  // Themes fade from one colour to the next.
  const still = page.createElement("style");
  still.textContent = "* { transition: none !important; animation: none !important }";
  page.head.append(still);
  const found = headings(page).concat(pictures(page));
  for (const [width, height] of SIZES) {
    frame.width = width;
    frame.height = height;
    await paint(view);
    const where = `at ${width} px: `;
    found.push(...sideways(view, page).map(([kind, text]) => [kind, where + text]));
    found.push(...brokenWords(page).map(([kind, text]) => [kind, where + text]));
    if (width > 1000) found.push(...cutOff(page).map(([kind, text]) => [kind, where + text]));
    for (const theme of THEMES) {
      page.documentElement.dataset.theme = theme;
      await paint(view);
      found.push(...contrasts(view, page).map(([kind, text]) => [kind, `${theme}, ${where}${text}`]));
    }
  }
  return found;
}

// A hidden frame does not paint, so time limits the wait.
const paint = (view) =>
  Promise.race([
    new Promise((resolve) => view.requestAnimationFrame(() => view.requestAnimationFrame(resolve))),
    new Promise((resolve) => setTimeout(resolve, 500)),
  ]);

const shorten = (text) => text.replace(/\s+/g, " ").trim().slice(0, 80);
const isVisible = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
const main = (page) => page.querySelector("article") ?? page.body;

function sideways(view, page) {
  const width = page.documentElement.scrollWidth;
  return width > view.innerWidth ? [["scrolls sideways", `the page is ${width} px wide`]] : [];
}

// Tables and code that scroll in a frame of their own.
function cutOff(page) {
  return [...main(page).querySelectorAll("pre, .pst-scrollable-table-container, table")]
    .filter((e) => isVisible(e) && e.scrollWidth > e.clientWidth + 1)
    .map((e) => ["cut off", `<${e.localName}> ${shorten(e.textContent)}`]);
}

// Two letters or digits side by side in the text, on different lines of the page.
function brokenWords(page) {
  const found = [];
  for (const cell of main(page).querySelectorAll("td, th")) {
    if (!isVisible(cell)) continue;
    for (const node of texts(cell)) {
      if (node.parentElement.closest("mjx-container")) continue;
      for (const word of node.data.matchAll(/[\p{L}\p{N}]{2,}/gu)) {
        const range = page.createRange();
        range.setStart(node, word.index);
        range.setEnd(node, word.index + word[0].length);
        const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
        if (lines.size > 1) found.push(["broken word", `"${word[0]}" in "${shorten(cell.textContent)}"`]);
      }
    }
  }
  return found;
}

function headings(page) {
  const found = [];
  const levels = [...main(page).querySelectorAll("h1, h2, h3, h4, h5, h6")];
  const first = levels.filter((h) => h.localName === "h1");
  if (first.length !== 1) found.push(["headings", `${first.length} headings of the first level`]);
  let before = 0;
  for (const heading of levels) {
    const level = Number(heading.localName[1]);
    if (level > before + 1) found.push(["headings", `${heading.localName} after h${before}: ${shorten(heading.textContent)}`]);
    before = level;
  }
  return found;
}

function pictures(page) {
  // The title below a thumbnail says enough, so its alternative text may be empty.
  const images = [...page.querySelectorAll("img:not(.sphx-glr-thumbcontainer img[alt])")].filter(
    (image) => !image.alt.trim(),
  );
  const drawings = [...main(page).querySelectorAll("svg")].filter(
    (svg) =>
      !svg.closest("[aria-hidden=true], [aria-label], figure:has(figcaption), a, button, mjx-container") &&
      !svg.querySelector("title"),
  );
  const broken = [...page.querySelectorAll("img")].filter((i) => i.complete && !i.naturalWidth && i.loading !== "lazy");
  return [
    ...images.map((image) => ["no alternative text", image.getAttribute("src")]),
    ...drawings.map((svg) => ["no alternative text", `<svg> ${shorten(svg.textContent)}`]),
    ...broken.map((image) => ["missing picture", image.getAttribute("src")]),
  ];
}

// WCAG 2, level AA: 4.5 to 1, or 3 to 1 for large text.
function contrasts(view, page) {
  const found = new Map();
  for (const node of texts(page.body)) {
    const element = node.parentElement;
    if (!node.data.trim() || !isVisible(element) || element.closest("script, style, svg, [disabled]")) continue;
    const style = view.getComputedStyle(element);
    const back = background(view, element);
    if (back === null) continue;
    const ratio = contrast(over(color(style.color), back), back);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (isLarge ? 3 : 4.5)) {
      const key = `${style.color} on rgb(${back.slice(0, 3).map(Math.round)})`;
      if (!found.has(key)) found.set(key, `${ratio.toFixed(2)} to 1, ${key}: "${shorten(node.data)}"`);
    }
  }
  return [...found.values()].map((text) => ["contrast", text]);
}

function texts(root) {
  const walker = root.ownerDocument.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  return nodes;
}

const painter = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const known = new Map();

// Red, green, blue from 0 to 255 and opacity from 0 to 1, of any colour that CSS can write.
function color(text) {
  if (!known.has(text)) {
    painter.clearRect(0, 0, 1, 1);
    painter.fillStyle = text;
    painter.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = painter.getImageData(0, 0, 1, 1).data;
    known.set(text, [r, g, b, a / 255]);
  }
  return known.get(text);
}

const over = (front, back) =>
  [0, 1, 2].map((i) => front[i] * front[3] + back[i] * (1 - front[3])).concat(1);

// The colour behind an element; null if there is a picture behind it.
function background(view, element) {
  const layers = [];
  for (let e = element; e; e = e.parentElement) {
    const style = view.getComputedStyle(e);
    if (style.backgroundImage !== "none") return null;
    const layer = color(style.backgroundColor);
    if (layer[3] > 0) layers.push(layer);
    if (layer[3] === 1) break;
  }
  return layers.reduceRight((back, front) => over(front, back), [255, 255, 255, 1]);
}

function contrast(one, other) {
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

async function checkAll(addresses) {
  const frame = document.createElement("iframe");
  frame.style.border = "0";
  document.body.append(frame);
  for (const address of addresses) {
    [frame.width, frame.height] = SIZES[0];
    let found;
    try {
      found = await checkPage(frame, address);
    } catch (error) {
      found = [["error", String(error)]];
    }
    await fetch("/__report__", { method: "POST", body: JSON.stringify([address, found]) });
  }
}
