/* The token goes into the address, as in the one that was printed; the server answers with a cookie. */
document.querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  location.assign(`/?token=${encodeURIComponent(document.querySelector("#token").value.trim())}`);
});
