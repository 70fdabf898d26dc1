"""Machine translation: two systems, several metrics, and whether the difference is more than chance.

Prints:

    bleu       literal   34.4234
    bleu       fluent    55.2540
    chrf       literal   69.3165
    chrf       fluent    77.6211
    bertscore  literal    0.9057
    bertscore  fluent     0.9392
    evalign    literal   76.7960
    evalign    fluent    86.7134
    worst row of literal: 0.8463 Please lift the receipt up until the end of your travel.
"""

import evalign

REFERENCES = [
    "The ferry to the island leaves every two hours.",
    "Nobody knows why the bees came back this spring.",
    "She has been repairing clocks in this street for forty years.",
    "The new bridge will be opened before the summer holidays.",
    "Because of the frost, the apple harvest was smaller than usual.",
    "The museum shows letters that were never sent.",
    "Please keep the receipt until the end of your journey.",
    "The two villages have shared one fire engine since 1952.",
]
SYSTEMS = {
    "literal": [
        "The ferry on the island drives all two hours.",
        "Nobody knows, why the bees in this spring came back.",
        "She repairs since forty years clocks in this street.",
        "The new bridge is opened before the summer holidays.",
        "Because of the frost fell the apple harvest smaller out than usual.",
        "The museum shows letters, that never were sent.",
        "Please lift the receipt up until the end of your travel.",
        "The two villages share since 1952 a fire engine.",
    ],
    "fluent": [
        "The ferry to the island runs every two hours.",
        "No one knows why the bees returned this spring.",
        "She has repaired clocks on this street for forty years.",
        "The new bridge will open before the summer holidays.",
        "The apple harvest was smaller than usual because of the frost.",
        "The museum shows letters that were never posted.",
        "Please keep your receipt until the end of the trip.",
        "Since 1952 the two villages have shared one fire engine.",
    ],
}

if __name__ == "__main__":
    comparison = evalign.compare(SYSTEMS, REFERENCES, ["bleu", "chrf", "bertscore", "evalign"])
    for metric in comparison.metrics:
        for system in metric.systems:
            print(f"{metric.metric:10} {system.system:8} {system.score:8.4f}")
    bert = evalign.metric("bertscore")
    worst = min(zip(bert.score(SYSTEMS["literal"], REFERENCES)["f1"], SYSTEMS["literal"], strict=True))
    print(f"worst row of literal: {worst[0]:.4f} {worst[1]}")
