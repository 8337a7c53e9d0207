// A document's page: an address with #block-12 leads to the page that has it; the choice of a run takes effect at once.

function findBlock() {
  const wanted = /^#block-(\d+)$/.exec(location.hash);
  const blocks = document.querySelector(".blocks");
  if (!wanted || !blocks || document.getElementById(`block-${wanted[1]}`)) return;
  const place = new URL(location.href);
  place.searchParams.set("from", wanted[1]);
  location.replace(place);
}

findBlock();
addEventListener("hashchange", findBlock);
document.getElementById("run")?.addEventListener("change", (event) => event.target.form.requestSubmit());
