/* Before anything is drawn: the colours that were chosen here. */
try {
  document.documentElement.dataset.theme = localStorage.getItem("theme") ?? "auto";
} catch { /* nothing may be kept here */ }
