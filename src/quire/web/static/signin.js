// Signs in with a token, and goes to where somebody wanted to go: only to places of this site.
// The server has looked at it already; an address that leaves this site is the first page's.
function ownPlace(wanted) {
  const place = URL.canParse(wanted, location.origin) ? new URL(wanted, location.origin) : null;
  const ours = place?.origin === location.origin && !/\/\/|\\/.test(place.pathname);
  if (!ours) return "/";
  place.hash ||= location.hash; // a browser keeps it when it is sent here
  return place.href;
}

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
      location.assign(ownPlace(form.dataset.next));
      return;
    }
    const { error } = await answer.json();
    problem.textContent = error.fix ? `${error.message}; ${error.fix}` : error.message;
  } catch {
    problem.textContent = "the server does not answer; try again";
  }
});
