// Helpers for the DOM: elements made from data (never from HTML text), the status region, downloads, theme colours,
// canvases.

const ANNOUNCEMENT_MILLISECONDS = 6000; // a message stays visible; screen readers can read it later, too
let announcementTimer = 0;

/**
 * An element; keys beginning with "on" are listeners, `text` is its content, false and null attributes are left out.
 */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (key === "text") node.textContent = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2).toLowerCase(), value);
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/**
 * The element of the page with this id.
 * @returns {any}
 */
export function byId(id) {
  return document.getElementById(id);
}

/**
 * Show a message in the header's status line, which screen readers speak; in exported files the line is for them only.
 */
export function announce(text) {
  let region = document.getElementById("status");
  if (!region) {
    region = el("p", { id: "status", class: "status out-of-sight", role: "status", "aria-live": "polite" });
    document.body.append(region);
  }
  region.textContent = text;
  region.classList.remove("read");
  clearTimeout(announcementTimer);
  announcementTimer = setTimeout(() => region.classList.add("read"), ANNOUNCEMENT_MILLISECONDS);
}

/**
 * A key of the control with the focus inside `root`, by which `focusAgain` finds its successor; "" if there is none.
 */
export function focusKey(root) {
  const node = document.activeElement;
  return root.contains(node) && node !== root ? controlKey(node) : "";
}

/** Focus the control with this key after the part was redrawn. */
export function focusAgain(root, key) {
  if (!key || root.contains(document.activeElement)) return;
  const same = [...root.querySelectorAll("button, input, select, summary, [tabindex]")].find(
    (node) => controlKey(node) === key,
  );
  same?.focus({ preventScroll: true });
}

/** The key of a control: radio buttons by their value, others by their label. */
function controlKey(node) {
  const label =
    node.type === "radio"
      ? node.value
      : (node.getAttribute("aria-label") ?? node.closest("label, summary, button")?.textContent);
  return [node.tagName, node.type ?? "", label ?? node.className].join(" ");
}

/** Save a file under a name, as a download. */
export function download(name, blob) {
  const link = el("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

/** The value of a custom property such as "--ink" in the current theme. */
export function themeColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Colours of the "light" or "dark" theme, whatever the current one is: a function from names to values. */
export function paletteColours(theme) {
  const id = `${theme}-colours`;
  if (!document.getElementById(id)) document.body.append(el("span", { id, class: id, hidden: true }));
  const style = getComputedStyle(document.getElementById(id));
  return (name) => style.getPropertyValue(name).trim();
}

/** Call back when the theme changes, by the system or by the page; returns a function that stops that. */
export function onTheme(callback) {
  const query = matchMedia("(prefers-color-scheme: dark)");
  const observer = new MutationObserver(callback);
  query.addEventListener("change", callback);
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  return () => {
    query.removeEventListener("change", callback);
    observer.disconnect();
  };
}

/** A canvas as sharp as the screen, cleared, in CSS pixels of the page. */
export function sharpContext(canvas, size) {
  const ratio = globalThis.devicePixelRatio || 1;
  const [width, height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, size.width, size.height);
  return context;
}
