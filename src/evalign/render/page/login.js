// The form of a server that asks for a token: the answer to a request with the right one sets a cookie, and the page is
// loaded again. This module imports nothing, since the server sends nothing else without the cookie.

const form = document.querySelector("form");
const problem = document.querySelector(".error");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const message = await logIn(form.querySelector("input").value.trim());
  if (!message) location.reload();
  problem.textContent = message;
  problem.toggleAttribute("hidden", !message);
});

/** The reason why this token is not accepted, or "". */
async function logIn(token) {
  if (!/^[!-~]+$/.test(token)) return "This is not the token of this server.";
  try {
    const headers = { Authorization: `Bearer ${token}` };
    const answer = await fetch("/login", { method: "POST", headers, credentials: "same-origin" });
    if (answer.ok) return "";
    return answer.status === 401 ? "This is not the token of this server." : (await answer.json()).error.message;
  } catch {
    return "The server does not answer. Is evalign serve still running?";
  }
}
