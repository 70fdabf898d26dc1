// The state of the page in the URL fragment: #v1=<base64url of JSON>. A link shows what its sender saw;
// browsers do not send fragments to servers. Of a fragment that cannot be read the page says why.

const FRAGMENT_KEY = "v1=";
const MAX_FRAGMENT_LETTERS = 60000; // longer addresses are cut by mail programs and some servers' logs

/** The state in the address; null if there is none. */
export function readFragment() {
  const text = location.hash.replace(/^#/, "");
  if (!text.startsWith(FRAGMENT_KEY)) return null;
  try {
    const padded = text.slice(FRAGMENT_KEY.length).replace(/-/g, "+").replace(/_/g, "/");
    const bytes = Uint8Array.from(atob(padded), (char) => char.charCodeAt(0));
    const state = JSON.parse(new TextDecoder().decode(bytes));
    return state && typeof state === "object" && !Array.isArray(state) ? state : null;
  } catch {
    return null;
  }
}

/** A sentence about a link that cannot be read; "" if it can, or if there is none. */
export function fragmentProblem() {
  const [, version] = /^#v(\d+)=/.exec(location.hash) ?? [];
  if (version === undefined || readFragment()) return "";
  if (!location.hash.startsWith(`#${FRAGMENT_KEY}`))
    return `This link was made by another version of evalign (v${version}), which this page cannot read.`;
  return "This link is damaged or incomplete and cannot be read. Ask for the complete link.";
}

/** Put a state into the address, with `step` as a new entry of the history; returns false if it is too long. */
export function writeFragment(state, step = false) {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  const text = btoa(binary).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  const fits = text.length <= MAX_FRAGMENT_LETTERS;
  try {
    history[step ? "pushState" : "replaceState"](null, "", fits ? `#${FRAGMENT_KEY}${text}` : "#");
  } catch {
    return false; // a sandboxed frame has no address of its own
  }
  return fits;
}
