"use strict";
// Sort a table by a click on a heading, and show the rows that contain all words of its filter.
const keyOf = (row, k) => {
  const cell = row.cells[k];
  return cell.dataset.value ?? cell.textContent.trim();
};
// A hole, a dash and a timelike answer have no place in an order: they stay last whichever way it runs.
const isMissing = (row, k) => row.cells[k].classList.contains("hole") || ["", "–"].includes(row.cells[k].textContent.trim());
const compare = (a, b) => {
  const x = parseFloat(a), y = parseFloat(b);
  if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
  if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1; // words after numbers
  return a.localeCompare(b);
};
const sorted = (rows, k, down) => {
  const present = rows.filter((row) => !isMissing(row, k)).sort((a, b) => compare(keyOf(a, k), keyOf(b, k)));
  return [...(down ? present.reverse() : present), ...rows.filter((row) => isMissing(row, k))];
};
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, k) => {
    const sort = () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      body.append(...sorted([...body.rows], k, down));
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
