// The choice of metrics: common ones as boxes, others as specs, IDF from the file, the model where there are several.
// In: the server's list of metrics and models. Out: specs such as `bertscore(idf=references)`.

import { labelledSelect } from "../shared/controls.js";
import { el } from "../shared/dom.js";
import { writtenSpec } from "../shared/spec.js";

const METRICS_COMMON = [
  "evalign",
  "bertscore",
  "lisascore",
  "moverscore",
  "sbert",
  "rouge1",
  "rouge2",
  "rougeL",
  "bleu",
  "chrf",
  "ter",
  "meteor",
  "sari",
  "fkgl",
];
const METRICS_CHOSEN = ["bertscore", "rougeL", "chrf"];

/** Controls; returns {node, specs(), available(what the rows have)}. */
export function metricChoice(options) {
  const known = options.metrics();
  const common = METRICS_COMMON.map((name) => known.find((metric) => metric.name === name)).filter(Boolean);
  const boxes = common.map((metric) => {
    const box = el("input", { type: "checkbox", value: metric.name });
    box.checked = METRICS_CHOSEN.includes(metric.name);
    return box;
  });
  const notes = common.map(() => el("small", {}));
  const labels = common.map((metric, place) =>
    el(
      "label",
      { class: "check u-metric", title: metric.about },
      boxes[place],
      el("span", {}, el("strong", { text: metric.name }), notes[place]),
    ),
  );
  const models = (options.models ?? []).map((model) => [model.name, model.label ?? model.name]);
  const model = labelledSelect("Model of the embedding metrics", () => {});
  model.fill(models, models[0]?.[0]);
  const idf = el("input", { type: "checkbox" });
  const others = el("textarea", {
    id: "u-specs",
    rows: 2,
    spellcheck: "false",
    dir: "ltr",
    "aria-describedby": "u-specs-help",
  });
  const optionOf = (metric, name) => metric.options.find((option) => option.name === name);
  function spec(metric) {
    const chosen = {};
    const option = optionOf(metric, "model");
    if (option?.choices.includes(model.select.value) && model.select.value !== option.default) {
      chosen.model = model.select.value;
    }
    if (idf.checked && optionOf(metric, "idf")) chosen.idf = "references";
    return writtenSpec(metric.name, chosen);
  }
  return {
    node: el(
      "div",
      {},
      el("fieldset", { class: "u-metrics" }, el("legend", {}, el("strong", { text: "Metrics" })), ...labels),
      el(
        "div",
        { class: "row" },
        models.length > 1 ? model.node : null,
        el("label", { class: "check" }, idf, "Weigh rare words more (IDF, counted over the references of this file)"),
      ),
      el(
        "details",
        {},
        el("summary", { text: "Other metrics and settings" }),
        el("div", { class: "field" }, el("label", { for: "u-specs", text: "One metric per line" }), others),
        el(
          "p",
          { id: "u-specs-help", class: "soft" },
          "As on the command line, for example ",
          el("code", { text: "lisascore(method=exact)" }),
          " or ",
          el("code", { text: "rougeLsum" }),
          ".",
        ),
      ),
    ),
    specs: () => [
      ...new Set([
        ...common.filter((_metric, place) => boxes[place].checked && !boxes[place].disabled).map(spec),
        ...others.value
          .split("\n")
          .map((line) => line.trim())
          .filter(Boolean),
      ]),
    ],
    available(has) {
      common.forEach((metric, place) => {
        const lacking = metric.needs.filter((need) => has[need] === false);
        const why = metric.reason || (lacking.length && `needs ${lacking.join(" and ")}, which no row has`);
        boxes[place].disabled = Boolean(why);
        notes[place].textContent = why ? `Not possible: ${why}` : metric.about.replace(/\s*\(.*$/, "");
      });
    },
  };
}
