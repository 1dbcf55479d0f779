// Hours by GET, a greeting by POST, a ticket that is given only to those who carry the cookie.
async function show(id, url, options, render) {
  const answer = await fetch(url, options);
  document.getElementById(id).innerHTML = answer.ok ? render(await answer.json()) : `Closed (${answer.status})`;
}

show("hours", "/api/hours", {}, ({ hours }) => hours.map(([season, open]) => `<tr><td>${season}</td><td>${open}</td></tr>`).join(""));
show(
  "greeting",
  "/api/greeting",
  { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ name: "visitor" }) },
  ({ greeting }) => greeting,
);
show("ticket", "/api/ticket", {}, ({ ticket }) => `Your ticket: <strong>${ticket}</strong>`);
