"use strict";
// Sort a table by a click on a heading, and show the rows that contain all words of its filter.
const keyOf = (row, k) => {
  const cell = row.cells[k];
  return cell.dataset.value ?? cell.textContent.trim();
};
const compare = (a, b) => {
  const x = parseFloat(a), y = parseFloat(b);
  const numbers = !Number.isNaN(x) && !Number.isNaN(y);
  if (numbers) return x - y;
  if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1; // holes go last
  return a.localeCompare(b);
};
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, k) => {
    const sort = () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].sort((a, b) => compare(keyOf(a, k), keyOf(b, k)));
      body.append(...(down ? rows.reverse() : rows));
    };
    heading.addEventListener("click", sort);
    heading.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(); }
    });
  });
  const filter = table.closest("figure").querySelector("input[type=search]");
  if (filter) filter.addEventListener("input", () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of body.rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
}
document.documentElement.dataset.ready = String(document.querySelectorAll("table").length);
