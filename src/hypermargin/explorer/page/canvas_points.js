// A stand-in for browsers without WebGL2.
import { drawOnCanvas } from "./display_list.js";

/** The points on a plain canvas; regions are left out. */
export class CanvasRenderer {
  constructor(canvas, listPoints) {
    this.context = canvas.getContext("2d");
    this.listPoints = listPoints;
  }
  setRegions() {}
  setPalette() {}
  draw(view, { ratio }) {
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.clearRect(0, 0, view.width, view.height);
    drawOnCanvas(this.context, this.listPoints());
  }
  finish() {}
  close() {}
}
