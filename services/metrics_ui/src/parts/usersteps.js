/** The steps of a user's pipeline as he named them, each with the stage in which it is timed; nothing for other systems. */

import { h, show, table } from "../dom.js";
import { rate } from "../format.js";
import { userSteps } from "../usersteps.js";

/** @import {App} from "../types.js" */
/** @import {View} from "../view.js" */

const ABOUT =
  "Spark fuses steps without state into one task, so what passes from one step to the next is not seen: all between a " +
  "source and a sink is timed together, and has no rates of its own. Outputs are the first of each message.";

export class UserSteps {
  /** @param {App} app */
  constructor(app) {
    this.app = app;
    this.table = table({
      caption: "Steps of the pipeline",
      columns: [
        { title: "step" },
        { title: "timed in" },
        { title: "messages/s in", numeric: true },
        { title: "messages/s out", numeric: true },
      ],
    });
    this.element = h("div.full", { hidden: true }, this.table.element, h("p.about", {}, ABOUT));
  }

  /** @param {View} view */
  update(view) {
    const steps = userSteps(view);
    show(this.element, steps.length > 0);
    this.table.setRows(
      steps.map(({ text, id, title, into, out }) => [
        text,
        { text: title, href: this.app.href("computations", id) },
        rate(into),
        rate(out),
      ]),
    );
  }
}
