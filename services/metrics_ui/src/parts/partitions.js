/** The partitions of a system that is not ours, as tables; nothing for our own. */

import { h, setText, show, table } from "../dom.js";
import { NONE, duration, rate, whole } from "../format.js";
import { oddPartitions, outputLatencies, partitionFigures } from "../partitions.js";
import { latencyTable } from "./latencies.js";

/** @import {View} from "../view.js" */

const ABOUT = {
  command: "Committed is what its consumer group has committed.",
  attached: "Committed is what its consumer group has committed.",
  spark: "Committed is what its queries have committed, at the end of each batch.",
  pipeline: "Spark commits at the end of a batch; until then all of a partition counts as behind.",
};

export class Partitions {
  constructor() {
    this.about = h("p.about");
    this.odd = h("p.summary");
    this.rates = table({
      caption: "Input by topic and partition",
      columns: [
        { title: "partition" },
        ...[
          "sent/s",
          "committed/s",
          "outputs/s",
          "behind at the end",
          "behind at most",
          "longest without a commit",
        ].map((title) => ({ title, numeric: true })),
      ],
    });
    this.latencies = latencyTable("Latency by output topic, and by the partition of the message", "output");
    this.element = h(
      "section",
      { hidden: true },
      h("h2", {}, "Partitions"),
      this.about,
      this.odd,
      h("div.grid", {}, h("div.full", {}, this.rates.element), h("div.full", {}, this.latencies.element)),
    );
  }

  /** @param {View} view */
  update(view) {
    const { system } = view.history;
    show(this.element, system !== null);
    if (system === null) return;
    const figures = partitionFigures(view);
    setText(this.about, ABOUT[/** @type {keyof typeof ABOUT} */ (system.kind)] ?? "");
    setText(this.odd, oddPartitions(figures, view.begin).join(" ") || "No partition differs much from the others.");
    this.rates.setRows(
      figures.map(({ name, sent, committed, outputs, behind, most, stoodMs }) => [
        name,
        rate(sent),
        rate(committed),
        rate(outputs),
        whole(behind),
        whole(most),
        most === null ? NONE : duration(stoodMs),
      ]),
    );
    this.latencies.set(outputLatencies(view).map(({ name, hist }) => ({ title: name, hist })));
  }
}
