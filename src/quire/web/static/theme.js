// Sets what was chosen last before anything is painted: light or dark (without a choice, as the system says), and how sources are shown.
const chosen = localStorage.getItem("theme");
if (chosen) document.documentElement.dataset.theme = chosen;
const source = localStorage.getItem("source");
if (source) document.documentElement.dataset.source = source;
