/* Sets the chosen colours before the page is drawn. */
try {
  document.documentElement.dataset.theme = localStorage.getItem("theme") ?? "auto";
} catch { /* this browser forbids storage */ }
