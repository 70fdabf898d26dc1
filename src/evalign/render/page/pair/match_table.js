// All matches of a pair as a table, the accessible alternative to the picture, and as rows of a CSV file.

import { foldedTable, scrollTable } from "../shared/controls.js";
import { el } from "../shared/dom.js";
import { fourDigits } from "../shared/number_text.js";
import { PAIR_SIDES, otherSide } from "./match_facts.js";

const TABLE_COLUMNS = ["token", "partner", "similarity", "weight", "adds", "marks"];

/** All matches; `matches()` gives {decoded, grid, view} at the moment the table is opened. */
export function matchTable(matches) {
  return foldedTable("All matches as a table", () => tableSides(matches()));
}

/** One row per token of both sides, exact numbers: [[names], [values], ...]. */
export function matchRows({ decoded, grid, view }) {
  const { matching } = view;
  const head = [
    "text",
    "token",
    "piece",
    "start",
    "stop",
    "surface",
    "partner",
    "partner_surface",
    "similarity",
    "weight",
    "share",
    "weak_match",
    "never_chosen",
    "special",
    "unknown",
    "matching",
    "signature",
  ];
  const rows = PAIR_SIDES.flatMap((side) =>
    decoded[side].pieces.map((piece, token) => {
      const facts = tokenFacts(decoded, view, side, token);
      const far = grid.labels[otherSide(side)];
      return [
        side,
        token,
        piece,
        ...decoded[side].offsets[token],
        grid.labels[side][token],
        facts.partner < 0 ? "" : facts.partner,
        facts.partner < 0 ? "" : far[facts.partner],
        facts.value,
        decoded[side].weights[token],
        matching.masses ? "" : facts.share,
        facts.weak,
        facts.never,
        decoded[side].special[token],
        facts.unknown,
        matching.name,
        matching.signature,
      ];
    }),
  );
  return [head, ...rows];
}

function tableSides(matches) {
  return PAIR_SIDES.map((side) => {
    const field = side === "candidate" ? "precision" : "recall";
    const names = TABLE_COLUMNS.map((name) => (name === "adds" ? `adds to ${field}` : name));
    const rows = matches.decoded[side].pieces.map((_piece, token) => tableRow(matches, side, token));
    const caption = `Tokens of the ${side} and their partners, ${matches.view.matching.name}`;
    return scrollTable(caption, names, rows, { text: [0, 1] });
  });
}

function tableRow({ decoded, grid, view }, side, token) {
  const facts = tokenFacts(decoded, view, side, token);
  const marks = [
    facts.weak && "weak match",
    facts.never && "never chosen",
    facts.unknown && "unknown",
    decoded[side].special[token] && "special",
  ];
  const partner = facts.partner < 0 ? "none" : el("bdi", { text: grid.labels[otherSide(side)][facts.partner] });
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, el("bdi", { text: grid.labels[side][token] })),
    el("td", { class: "name" }, partner),
    el("td", { text: fourDigits(facts.value) }),
    el("td", { text: fourDigits(decoded[side].weights[token]) }),
    el("td", { text: view.matching.masses ? "" : fourDigits(facts.share) }),
    el("td", { class: "name", text: marks.filter(Boolean).join(", ") }),
  );
}

function tokenFacts(decoded, view, side, token) {
  const { matching } = view;
  const value = matching[`${side}_values`][token];
  const partner = matching[`${side}_partners`][token];
  const special = decoded[side].special[token];
  const bound = decoded.doc.baseline ? decoded.doc.baseline.value : -Infinity;
  return {
    value,
    partner,
    share: view.shares[side][token],
    weak: !special && partner >= 0 && value < bound,
    never: !special && matching.never_chosen[side].includes(token),
    unknown: decoded[side].unknown.includes(token),
  };
}
