// Pictures marked data-src are fetched when they come into view.
const near = new IntersectionObserver((entries) => {
  for (const entry of entries.filter((each) => each.isIntersecting)) {
    entry.target.src = entry.target.dataset.src;
    near.unobserve(entry.target);
  }
});
document.querySelectorAll("img[data-src]").forEach((picture) => near.observe(picture));
