// Signs in with a token, and goes to where somebody wanted to go: only to places of this site.
const form = document.getElementById("signin");
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const problem = document.getElementById("problem");
  problem.textContent = "";
  try {
    const answer = await fetch("/v1/signin", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ token: form.elements.token.value.trim() }),
    });
    if (answer.ok) {
      const wanted = new URL(new URLSearchParams(location.search).get("next") ?? "/", location.origin);
      location.assign(wanted.origin === location.origin ? wanted.pathname : "/");
      return;
    }
    const { error } = await answer.json();
    problem.textContent = error.fix ? `${error.message}; ${error.fix}` : error.message;
  } catch {
    problem.textContent = "the server does not answer; try again";
  }
});
