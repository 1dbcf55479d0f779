// Draw each chart in place of the server's small one. The table beside the chart has the same numbers.
"use strict";
(() => {
  const drawn = new WeakMap();
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  const bytes = (value) => {
    let at = 0;
    while (Math.abs(value) >= 1000 && at < units.length - 1) { value /= 1000; at += 1; }
    return `${Number(value.toPrecision(3))} ${units[at]}`;
  };
  const count = (value) => value.toLocaleString("en");
  // Dates are written as everywhere on the site, in the time zone of the person.
  const zone = document.body.dataset.zone || "UTC";
  const stamps = [
    [31536000, "{YYYY}", null, null, null, null, null, null, 1],
    [2419200, "{YYYY}-{MM}", null, null, null, null, null, null, 1],
    [86400, "{MM}-{DD}", "\n{YYYY}", null, null, null, null, null, 1],
    [60, "{HH}:{mm}", "\n{YYYY}-{MM}-{DD}", null, "\n{MM}-{DD}", null, null, null, 1],
    [1, "{HH}:{mm}:{ss}", "\n{YYYY}-{MM}-{DD}", null, "\n{MM}-{DD}", null, null, null, 1],
  ];
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim() || "#808080";

  function draw(place) {
    const given = JSON.parse(place.dataset.chart);
    const text = given.unit === "bytes" ? bytes : count;
    const lines = ["--busy", "--good", "--warn", "--bad"].map(colour);
    const axis = { stroke: colour("--idle"), grid: { stroke: colour("--pico-muted-border-color"), width: 1 } };
    const options = {
      width: Math.max(place.clientWidth, 200),
      height: 200,
      cursor: { y: false },
      scales: { y: { range: (_, low, high) => [Math.min(low ?? 0, 0), (high ?? 0) || 1] } },
      tzDate: (time) => uPlot.tzDate(new Date(time * 1000), zone),
      axes: [{ ...axis, space: 90, values: stamps }, { ...axis, size: 80, values: (_, ticks) => ticks.map(text) }],
      series: [
        { label: "Time", value: "{YYYY}-{MM}-{DD} {HH}:{mm}:{ss}" },
        ...given.series.map((each, at) => ({
          label: each.label,
          stroke: lines[at % lines.length],
          width: 2,
          dash: at ? [6, 4] : undefined,
          points: { show: given.times.length < 40 },
          value: (_, value) => (value === null ? "–" : text(value)),
        })),
      ],
    };
    place.replaceChildren();
    place.setAttribute("role", "img");
    place.setAttribute("aria-label", `${given.title}; the table below has the numbers`);
    drawn.set(place, new uPlot(options, [given.times, ...given.series.map((each) => each.values)], place));
  }

  function drawAll(again) {
    for (const place of document.querySelectorAll("[data-chart]")) {
      if (again || !place.querySelector(".uplot")) {
        drawn.get(place)?.destroy();
        draw(place);
      }
    }
  }

  addEventListener("DOMContentLoaded", () => drawAll(false));
  document.addEventListener("htmx:after:swap", () => drawAll(true));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll(true));
  let waiting = 0;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(() => drawAll(true), 200); });
})();
