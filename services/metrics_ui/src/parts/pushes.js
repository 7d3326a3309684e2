/** When a source pushed last: how long ago while the run goes on, and when it was in one that has ended. */

import { duration, elapsed } from "../format.js";

/** @import {SourceData} from "../types.js" */
/** @import {View} from "../view.js" */

/** @param {SourceData} source @param {View} view */
export function newestPush({ end_unix_ms: end }, { model, begin }) {
  return model.live ? `${duration(Math.max(0, model.nowMs - end))} ago` : `at ${elapsed((end - begin) / 1000)}`;
}
