"""Summaries: recall of what the references say, several references each, and what ROUGE's variants make of them.

Prints:

    summary          rouge1     rouge2  rougeLsum  bertscore  lisascore
    good             0.7619     0.4000     0.6190     0.8396     0.8053
    short            0.4286     0.3077     0.4286     0.7318     0.3984
    off topic        0.1111     0.0000     0.1111     0.4706     0.4092
    good, twice      0.5161     0.2667     0.4194     0.7939     0.5615
"""

import evalign

ARTICLE_REFERENCES = [
    "The harbour will close for two weeks in March. Divers have to mend the sea wall. Boats move to the next town.",
    "From March the harbour is shut for a fortnight while divers repair its wall; boats will use the next town.",
]
SUMMARIES = {
    "good": "Divers will repair the sea wall in March, so the harbour closes for two weeks. Boats use the next town.",
    "short": "The harbour will close in March.",
    "off topic": "Fishing has a long history here. Many families live from it, and tourists like fresh fish.",
}
SUMMARIES["good, twice"] = f"{SUMMARIES['good']} {SUMMARIES['good']}"

if __name__ == "__main__":
    specs = ["rouge1", "rouge2", "rougeLsum", "bertscore", "lisascore"]
    metrics = [evalign.metric(spec) for spec in specs]
    references = [ARTICLE_REFERENCES] * len(SUMMARIES)  # the best reference counts
    columns = [metric.score(SUMMARIES.values(), references)[metric.main] for metric in metrics]
    print("summary".ljust(12), *(spec.rjust(10) for spec in specs))
    for name, *scores in zip(SUMMARIES, *columns, strict=True):
        print(name.ljust(12), *(f"{score:10.4f}" for score in scores))
