"""What the pair view says is what the library computes, to four digits: card, scores, marks, table, what changed."""

import math
import re

import pytest
from pair_samples import CANDIDATE, LINES, choose, facts, pair_file, settle, unfold, unit

SIDES = ("candidate", "reference")
SHOWN = (2, 5, 9, 12)  # tokens looked at on each side


@pytest.fixture(scope="module")
def weighted(tmp_path_factory):
    return pair_file(tmp_path_factory.mktemp("weighted"), idf=True)


@pytest.fixture(scope="module")
def words_of_pieces(tmp_path_factory, minilm):
    texts = "The mayor spoke unfathomably.", "An unfathomable speech by the mayoress, allegedly."
    return pair_file(tmp_path_factory.mktemp("pieces"), *texts, spec="bertscore(specials=drop)")


def four(number):
    return f"{float(number):.4f}"


def parts_of_f1(alignment, side):
    """What each token adds to F1: its share of P or R, times how much F1 grows with that."""
    precision, recall = alignment.precision_shares.sum(), alignment.recall_shares.sum()
    shares, other = (
        (alignment.precision_shares, recall) if side == "candidate" else (alignment.recall_shares, precision)
    )
    return shares * 2 * other**2 / (precision + recall) ** 2


@pytest.mark.parametrize("matching", ["greedy", pytest.param("exact", marks=pytest.mark.slow)])
def test_the_card_has_the_librarys_numbers(weighted, open_page, matching):
    file, alignments, _ = weighted
    alignment = alignments[matching]
    page = open_page(file)
    choose(page, matching)
    for side in SIDES:
        values, partners = getattr(alignment, f"{side}_values"), getattr(alignment, f"{side}_partners")
        weights = getattr(alignment, f"{side}_weights")
        shares = alignment.precision_shares if side == "candidate" else alignment.recall_shares
        for token in SHOWN:
            unit(page, side, token).hover()
            settle(page)
            assert facts(page, "value") == [four(values[token])]
            assert facts(page, "weight") == [four(weights[token])]
            assert facts(page, "share") == [four(shares[token])]
            assert facts(page, "f1") == [four(parts_of_f1(alignment, side)[token])]
            others = getattr(alignment, "reference" if side == "candidate" else "candidate")
            chosen = page.locator('.pair-card [data-fact="partners"] li').all_inner_texts()
            if partners[token] < 0:
                assert chosen == []
            else:
                assert re.split(r"\s+", chosen[0])[0] == others.surface(int(partners[token]))
                assert re.split(r"\s+", chosen[0])[-1] == four(values[token])
    assert sum(parts_of_f1(alignment, side).sum() for side in SIDES) == pytest.approx(alignment.scores["f1"])


def test_the_card_of_a_transport_plan_has_its_masses(weighted, open_page):
    file, alignments, _ = weighted
    plan = alignments["transport"]
    page = open_page(file)
    choose(page, "transport")
    for token in SHOWN:
        unit(page, "candidate", token).hover()
        settle(page)
        own = [place for place, cell in enumerate(plan.cells) if cell[0] == token]
        assert facts(page, "mass") == [four(plan.masses[own].sum())]
        shown = page.locator('.pair-card [data-fact="partners"] li').all_inner_texts()
        wanted = sorted(
            ((plan.similarity[tuple(plan.cells[place])], plan.masses[place]) for place in own), reverse=True
        )
        assert [re.findall(r"\d\.\d{4}", text)[::-1] for text in shown] == [[four(s), four(m)] for s, m in wanted]
        assert facts(page, "share") == []


def test_the_most_similar_others_are_those_of_the_matrix(weighted, open_page):
    file, alignments, _ = weighted
    greedy = alignments["greedy"]
    page = open_page(file)
    unit(page, "candidate", 5).hover()
    settle(page)
    shown = page.locator('.pair-card [data-fact="nearest"] li').all_inner_texts()
    row = [value for place, value in enumerate(greedy.similarity[5]) if place != greedy.candidate_partners[5]]
    found = [float(re.search(r"-?\d\.\d{4}$", text.strip())[0]) for text in shown]
    assert found == pytest.approx(sorted(row, reverse=True)[:5], abs=1.1e-4)  # the matrix is packed to 16 bits


def test_scores_and_recipe_follow_the_matching(weighted, open_page):
    file, alignments, document = weighted
    page = open_page(file)
    for name, alignment in alignments.items():
        choose(page, name)
        assert page.locator(".pair-score dd").all_inner_texts() == [four(score) for score in alignment.scores.values()]
        assert page.locator(".pair-recipe").inner_text() == alignment.signature
        row = page.locator(".pair-scores-table tr.on").inner_text().split()
        assert [name, *[four(score) for score in alignment.scores.values()]] == row[: 1 + len(alignment.scores)]
    assert page.locator(".pair-matchings input").count() == len(document["matchings"]) == 8


def test_weak_and_never_chosen_are_two_marks(weighted, open_page):
    file, alignments, document = weighted
    page = open_page(file)
    for name in ("greedy", "exact"):
        choose(page, name)
        for side in SIDES:
            special = document[side]["special"]
            never = set(getattr(alignments[name], f"unmatched_{side}"))
            values, partners = (getattr(alignments[name], f"{side}_{kind}") for kind in ("values", "partners"))
            bound = document["baseline"]["value"]
            marked = {kind: set(page.evaluate(MARKED, [side, kind])) for kind in ("never", "weak")}
            assert marked["never"] == {token for token in never if not special[token]}
            assert marked["weak"] == {
                token for token, value in enumerate(values)
                if not special[token] and partners[token] >= 0 and value < bound
            }  # fmt: skip
    assert "never chosen" in page.locator(".pair-legend li", has=page.locator(".never")).inner_text()
    assert f"weak: below {document['baseline']['value']:.2f}" in page.locator(".pair-legend").inner_text()


MARKED = """([side, kind]) => [...document.querySelectorAll(`.pair-unit.${kind}[data-side=${side}]`)]
  .map((span) => Number(span.dataset.unit))"""


def test_a_word_is_the_weighted_mean_of_its_pieces_and_has_all_their_lines(words_of_pieces, open_page):
    file, alignments, document = words_of_pieces
    greedy, side = alignments["greedy"], document["candidate"]
    pieces = [token for token, word in enumerate(side["words"]) if word == 3]
    assert len(pieces) > 2, "the word must fall into pieces for this test to say anything"
    page = open_page(file)
    word = page.get_by_role("option", name="unfathomably")
    word.hover()
    settle(page)
    weights, values = greedy.candidate_weights[pieces], greedy.candidate_values[pieces]
    assert facts(page, "value") == [four((weights * values).sum() / weights.sum())]
    assert facts(page, "weight") == [four(weights.sum())]
    assert facts(page, "share") == [four(greedy.precision_shares[pieces].sum())]
    best = {}
    for token in pieces:
        met = document["reference"]["words"][int(greedy.candidate_partners[token])]
        best[met] = max(best.get(met, -1.0), float(greedy.candidate_values[token]))
    drawn = {one["reference"]["unit"]: one["similarity"] for one in page.evaluate(LINES) if one["kind"] == "precision"}
    assert drawn == pytest.approx(best)
    rows = page.locator(".pair-facts-tokens tbody tr").all_inner_texts()
    assert [row.split()[0] for row in rows] == [greedy.candidate.surface(token) for token in pieces]
    unfold(page)
    page.get_by_label("Subword pieces").check()
    options = page.locator('.pair-unit[data-side="candidate"]').all_inner_texts()
    assert options == [greedy.candidate.surface(token) for token in range(len(greedy.candidate))]
    assert not any("#" in text for text in options)


def test_what_changed_lists_lost_and_new_cells_and_adds_up(weighted, open_page):
    file, alignments, _ = weighted
    before, after = alignments["greedy"], alignments["exact"]
    page = open_page(file)
    choose(page, "exact")
    unfold(page)
    page.get_by_label("Show what changed against").select_option("greedy")
    settle(page)
    old, new = ({tuple(cell) for cell in one.cells.tolist()} for one in (before, after))
    drawn = {kind: set() for kind in ("lost", "new", "kept")}
    for line in page.evaluate(LINES):
        drawn[line["kind"]].add((line["candidate"]["unit"], line["reference"]["unit"]))
    assert drawn == {"lost": old - new, "new": new - old, "kept": old & new}
    report = page.locator(".pair-section").first
    counts = f"{len(new - old)} new, {len(old - new)} lost, {len(old & new)} kept"
    assert counts in report.inner_text()
    for field in ("precision", "recall", "f1"):
        assert f"{field} {four(before.scores[field])} to {four(after.scores[field])}" in report.inner_text()
    effects = [number(row.split()[-1]) for row in report.locator("tbody tr").all_inner_texts()]
    moved = sum(after.scores[field] - before.scores[field] for field in ("precision", "recall"))
    assert math.fsum(effects) == pytest.approx(moved, abs=1e-4 * len(effects))
    assert [abs(effect) for effect in effects] == sorted((abs(effect) for effect in effects), reverse=True)
    report.locator("tbody button").first.click()
    settle(page)
    assert page.evaluate("document.activeElement.classList.contains('pair-unit')")


def number(text):
    return float(text.replace("\u2212", "-"))


def test_the_table_has_every_token_of_both_texts(weighted, open_page):
    file, alignments, _ = weighted
    page = open_page(file)
    table = page.locator(".pair-more > .pair-table")
    assert table.locator("tbody tr").count() == 0  # built when it is opened
    table.locator("summary").click()
    table.locator("tbody tr").first.wait_for()
    greedy = alignments["greedy"]
    rows = [row.split("\t") for row in table.locator("tbody").first.inner_text().split("\n")]
    for token, row in enumerate(rows):
        assert row[0] == greedy.candidate.surface(token)
        assert row[1] == greedy.reference.surface(int(greedy.candidate_partners[token]))
        wanted = greedy.candidate_values[token], greedy.candidate_weights[token], greedy.precision_shares[token]
        assert row[2:5] == [four(one) for one in wanted]
    assert len(rows) == len(greedy.candidate)
    assert table.locator("tbody").last.locator("tr").count() == len(greedy.reference)


def test_a_heatmap_cell_focuses_both_words(weighted, open_page):
    file, alignments, _ = weighted
    greedy = alignments["greedy"]
    page = open_page(file)
    settle(page)
    board = page.locator(".heat-board")
    board.focus()
    page.keyboard.press("ArrowDown")
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    settle(page)
    lit = page.evaluate(
        "[...document.querySelectorAll('.pair-unit.on')].map((one) => [one.dataset.side, one.dataset.unit])"
    )
    (row,) = [int(place) for side, place in lit if side == "candidate"]
    (column,) = [int(place) for side, place in lit if side == "reference"]
    assert float(facts(page, "asked")[0]) == pytest.approx(greedy.similarity[row, column], abs=1.1e-4)
    said = page.get_by_role("status").inner_text()
    assert CANDIDATE.split()[row - 1] in said
    assert facts(page, "asked")[0] in said
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    settle(page)
    assert page.locator('.pair-unit[aria-selected="true"]').count() == 1  # the pair stays pinned


def test_the_rounds_of_a_recursion_are_shown_on_the_heatmap(weighted, open_page):
    file, _, document = weighted
    (recursive,) = [one for one in document["matchings"] if one["name"] == "recursive-argmax"]
    assert sorted(recursive["rounds"][-1]) == sorted(recursive["cells"])
    assert len(recursive["rounds"]) == 8
    page = open_page(file)
    settle(page)
    control = page.locator(".heat-rounds")
    assert control.is_hidden()  # greedy has no rounds
    choose(page, "recursive-argmax")
    settle(page)
    drawn = "document.querySelector('.heat-cells').toDataURL()"
    last, slider = page.evaluate(drawn), control.locator("input")
    assert slider.get_attribute("aria-valuetext").startswith("7, ")
    slider.press("Home")
    settle(page)
    used = [len({cell[side] for cell in recursive["rounds"][0]}) for side in (0, 1)]
    assert slider.get_attribute("aria-valuetext") == f"0, {2 * len(recursive['rounds'][0]) - sum(used)} used again"
    assert (page.evaluate(drawn) == last) == (recursive["rounds"][0] == recursive["rounds"][-1])
    control.locator("button").click()
    playing = control.locator("button")
    assert playing.inner_text() == "Stop"
    playing.click()
    assert playing.inner_text() == "Play the rounds"
    choose(page, "greedy")
    settle(page)
    assert control.is_hidden()


def test_clauses_that_are_lost_or_extra_are_listed_and_lead_to_their_words(tmp_path, open_page, minilm):
    texts = (
        "The council approved the new tram line, and the mayor promised free rides for everyone.",
        "The council approved the new tram line. Nobody was against it; the vote took an hour.",
    )
    file, _, document = pair_file(tmp_path, *texts, spec="bertscore(specials=drop)")
    page = open_page(file)
    settle(page)
    bound = document["similarity_bounds"][1]
    for name in ("greedy", "exact"):
        choose(page, name)
        [matching] = [one for one in document["matchings"] if one["name"] == name]
        for side in SIDES:
            spans, values = document[side]["clauses"], matching["clause_values"][side]
            wanted = sorted(
                (value, document[side]["text"][slice(*span)]) for value, span in zip(values, spans, strict=True)
            )
            listed = page.locator(f".pair-clauses-{side} li").all_inner_texts()
            assert listed == [f"{text} {four(value)}" for value, text in wanted if value < bound]
    page.locator(".pair-clauses summary").click()
    rows = page.locator(".pair-clauses tbody tr")
    rows.first.wait_for()  # made when the section opens
    assert rows.count() == sum(len(document[side]["clauses"]) for side in SIDES)
    page.locator(".pair-clauses-candidate li button").first.click()
    settle(page)
    assert page.evaluate("document.activeElement.textContent") == "and"
    choose(page, "transport")  # has neither precision nor recall
    assert page.locator(".pair-clauses").is_hidden()
