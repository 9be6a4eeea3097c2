/* Sets the chosen colours before the page is drawn. */
try {
  document.documentElement.dataset.theme = localStorage.getItem("mmerg-theme") ?? "auto";
} catch { /* this browser forbids storage */ }
