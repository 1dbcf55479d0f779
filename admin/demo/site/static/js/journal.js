// Three batches of entries, each fetched when the end of the page comes into view.
const end = document.getElementById("end");
let batch = 0;
let busy = false;

async function more() {
  if (busy) return;
  busy = true;
  const answer = await fetch(`/api/journal?batch=${batch + 1}`);
  const { entries, last } = await answer.json();
  batch += 1;
  for (const { title, text } of entries) {
    const article = document.createElement("article");
    article.innerHTML = `<h2>${title}</h2><p>${text}</p>`;
    document.getElementById("entries").append(article);
  }
  busy = false;
  watch.unobserve(end);
  if (last) end.textContent = "That is all so far.";
  else watch.observe(end);
}

const watch = new IntersectionObserver((entries) => {
  if (entries.some((each) => each.isIntersecting)) more();
});
watch.observe(end);
