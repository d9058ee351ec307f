// What the keyboard does, and the table of it that the page shows.

export const KEYS = [
  ["← ↑ → ↓", "move the plane (with shift: farther)"],
  ["+ −", "zoom"],
  ["[ ]", "turn"],
  ["1 2 3", "Poincaré, Klein, half-plane"],
  ["c", "chosen point to the middle"],
  ["m, o", "mean, origin to the middle"],
  ["r", "regions on or off"],
  ["/", "search for an id"],
  ["0", "back to the start"],
  ["esc", "forget the chosen point"],
];

const ARROWS = { ArrowRight: 0, ArrowUp: Math.PI / 2, ArrowLeft: Math.PI, ArrowDown: -Math.PI / 2 };

/** Act on a key pressed over the plane; returns whether it was one of ours. */
export function pressKey(key, withShift, explorer) {
  const models = ["poincare", "klein", "halfplane"];
  const step = withShift ? 1 : 0.25;
  if (key in ARROWS) explorer.nudge(ARROWS[key], step);
  else if (key === "+" || key === "=") explorer.zoom(1.25);
  else if (key === "-" || key === "_") explorer.zoom(0.8);
  else if (key === "[" || key === "]") explorer.rotate(key === "[" ? 0.1 : -0.1);
  else if (key === "1" || key === "2" || key === "3") explorer.setModel(models[Number(key) - 1]);
  else if (key === "c") explorer.centreSelected();
  else if (key === "m") explorer.centreOn(explorer.mean);
  else if (key === "o") explorer.centreOn([0, 0]);
  else if (key === "r") explorer.setRegions(!explorer.showsRegions);
  else if (key === "/") explorer.focusSearch();
  else if (key === "0" || key === "Home") explorer.reset();
  else if (key === "Escape") explorer.select(-1);
  else return false;
  return true;
}
