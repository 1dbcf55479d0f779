// A bag of seeds goes into the basket.
const answer = await fetch("/basket", { method: "POST", body: new URLSearchParams({ seeds: "fern" }) });
document.getElementById("basket").textContent = (await answer.json()).basket;
