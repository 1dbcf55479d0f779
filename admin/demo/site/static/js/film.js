// The first bytes of the film, asked for by range.
const answer = await fetch("/film/fern.mp4", { headers: { Range: "bytes=0-1023" } });
const bytes = await answer.arrayBuffer();
document.getElementById("head").textContent = `${answer.status}: the first ${bytes.byteLength} bytes of the film are here.`;
