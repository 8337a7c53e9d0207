// Sets light or dark before anything is painted, as it was chosen last; without a choice, as the system says.
const chosen = localStorage.getItem("theme");
if (chosen) document.documentElement.dataset.theme = chosen;
