// The requests of the page: each gives the parsed answer, or an Error with the server's message. Waits and asks again
// while the server's queue is full.

const API_TRIES = 5;

/** The calls of one server. */
export function makeApi(base = "") {
  const post = (path) => (body, signal) => apiCall(base + path, { method: "POST", body, signal });
  const get = (path) => (signal) => apiCall(base + path, { method: "GET", signal });
  return {
    align: post("/api/align"),
    score: post("/api/score"),
    compare: post("/api/compare"),
    resample: post("/api/resample"),
    idf: post("/api/idf"),
    specs: post("/api/specs"),
    lstm: post("/api/lstm"),
    likelihood: post("/api/likelihood"),
    metrics: get("/api/metrics"),
    models: get("/api/models"),
    about: get("/api/about"),
  };
}

async function apiCall(url, { method, body = undefined, signal }) {
  const request = { method, signal, credentials: "omit", cache: "no-store" };
  if (body !== undefined) {
    request.body = JSON.stringify(body);
    request.headers = { "Content-Type": "application/json" };
  }
  for (let attempt = 1; ; attempt += 1) {
    const answer = await apiFetch(url, request);
    if (answer.ok) return answer.json();
    const error = await apiError(answer);
    if (answer.status !== 429 || attempt === API_TRIES) throw error;
    await apiPause(Math.min(error.retryAfter || 1, 10) * 1000, signal);
  }
}

async function apiFetch(url, request) {
  try {
    return await fetch(url, request);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The server does not answer. Is evalign serve still running?", { cause: error });
  }
}

async function apiError(answer) {
  let message = `The server answered ${answer.status} ${answer.statusText}.`;
  let code = "";
  try {
    const refusal = (await answer.json()).error;
    message = refusal.message || message;
    code = refusal.code || "";
  } catch {
    // no JSON: the status says it
  }
  return Object.assign(new Error(message), {
    code,
    status: answer.status,
    retryAfter: Number(answer.headers.get("Retry-After")) || 0,
  });
}

function apiPause(milliseconds, signal) {
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
