// Requests to the server: each returns the parsed answer, or throws an Error with the server's message; while the queue
// of the server is full, it waits and tries again. Also metric specs as requests name them, and the HTML file of a
// document.

const MAX_TRIES = 5;
const DOCUMENT_SLOT = '{"evalign": "document"}';

/** The requests of one server: functions of (body, signal) or (signal). */
export function makeApi(base = "") {
  const post = (path) => (body, signal) => call(base + path, { method: "POST", body, signal });
  const get = (path) => (signal) => call(base + path, { method: "GET", signal });
  return {
    align: post("/api/align"),
    score: post("/api/score"),
    compare: post("/api/compare"),
    resample: post("/api/resample"),
    idf: post("/api/idf"),
    specs: post("/api/specs"),
    /** Ask a request that an installed package added. */
    plugged: (name, body, signal) => post(`/api/${name}`)(body, signal),
    likelihood: post("/api/likelihood"),
    metrics: get("/api/metrics"),
    models: get("/api/models"),
    about: get("/api/about"),
  };
}

async function call(url, { method, body = undefined, signal }) {
  const request = { method, signal, credentials: "same-origin", cache: "no-store" };
  if (body !== undefined) {
    request.body = JSON.stringify(body);
    request.headers = { "Content-Type": "application/json" };
  }
  for (let attempt = 1; ; attempt += 1) {
    const answer = await fetchAnswer(url, request);
    if (answer.ok) return answer.json();
    const error = await serverError(answer);
    if (answer.status !== 429 || attempt === MAX_TRIES) throw error;
    await pause(Math.min(error.retryAfter || 1, 10) * 1000, signal);
  }
}

async function fetchAnswer(url, request) {
  try {
    return await fetch(url, request);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer. Is evalign serve still running?", { cause: error });
  }
}

async function serverError(answer) {
  let message = `The server answered ${answer.status} ${answer.statusText}.`;
  let code = "";
  try {
    const refusal = (await answer.json()).error;
    message = refusal.message || message;
    code = refusal.code || "";
  } catch {
    // no JSON: the status is the message
  }
  return Object.assign(new Error(message), {
    code,
    status: answer.status,
    retryAfter: Number(answer.headers.get("Retry-After")) || 0,
  });
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        reject(new DOMException("cancelled", "AbortError"));
      },
      { once: true },
    );
  });
}

/** The finished HTML text; `<` is escaped in the data, so that no text can end the element that holds it. */
export async function htmlFile(doc) {
  const kind = doc.format.replace("evalign.", "") + (doc.alignments?.rows.length ? "-pairs" : "");
  const answer = await fetch(`/export/${kind}.html`, { credentials: "same-origin" });
  if (!answer.ok) throw new Error(`The server has no shell for exports (${answer.status}).`);
  const shell = await answer.text();
  return shell.replace(DOCUMENT_SLOT, () => JSON.stringify(doc).replace(/</g, "\\u003c"));
}

/** The spec of a metric with some options, {name: value}. */
export function specText(metric, options) {
  const written = Object.entries(options).map(([name, value]) => `${name}=${specValue(value)}`);
  return written.length ? `${metric}(${written.join(", ")})` : metric;
}

function specValue(value) {
  return /^[^\s,()="\\]+$/.test(value) ? value : JSON.stringify(value);
}
