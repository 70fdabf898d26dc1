// The choice of metrics for a file: common ones as boxes, others as specs, IDF from the file, the model where there are
// several.

import { specText } from "../server/api.js";
import { labelledSelect } from "../shared/controls.js";
import { el } from "../shared/dom.js";

const COMMON_METRICS = [
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
const PRESELECTED_METRICS = ["bertscore", "rougeL", "chrf"];

/** The controls; returns {node, specs(), available({references, sources}: whether rows have them)}. */
export function metricChoice(options) {
  const served = options.metrics();
  const common = COMMON_METRICS.map((name) => served.find((metric) => metric.name === name)).filter(Boolean);
  const boxes = common.map((metric) => {
    const box = el("input", { type: "checkbox", value: metric.name });
    box.checked = PRESELECTED_METRICS.includes(metric.name);
    return box;
  });
  const notes = common.map(() => el("small", {}));
  const labels = common.map((metric, index) =>
    el(
      "label",
      { class: "check u-metric", title: metric.about },
      boxes[index],
      el("span", {}, el("strong", { text: metric.name }), notes[index]),
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
    return specText(metric.name, chosen);
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
        ...common.filter((_metric, index) => boxes[index].checked && !boxes[index].disabled).map(spec),
        ...others.value
          .split("\n")
          .map((line) => line.trim())
          .filter(Boolean),
      ]),
    ],
    available(has) {
      common.forEach((metric, index) => {
        const lacking = metric.needs.filter((need) => has[need] === false);
        const why = metric.reason || (lacking.length && `needs ${lacking.join(" and ")}, which no row has`);
        boxes[index].disabled = Boolean(why);
        notes[index].textContent = why ? `Not possible: ${why}` : metric.about.replace(/\s*\(.*$/, "");
      });
    },
  };
}
