/* Opens the address that the server printed, with the token; the server answers with a cookie. */
document.querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  location.assign(`/?token=${encodeURIComponent(document.querySelector("#token").value.trim())}`);
});
