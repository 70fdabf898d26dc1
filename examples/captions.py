"""Captions: short texts with several references; the best reference counts, and the alignment says which word is wrong.

Prints:

     0.6456  market  People are shopping for clothes at a market.
     0.7394  boat    A red car is parked on the beach.
     0.8012  rain    A woman holding an umbrella walks across the road.
     0.8178  dog     A dog is jumping over a fallen log.
    worst matched word of the boat: parked
"""

import evalign

PHOTOS = {
    "dog": (["A brown dog jumps over a log.", "A dog leaps across a fallen tree.", "The dog is jumping over wood."],
            "A dog is jumping over a fallen log."),
    "market": (["People buy fruit at an outdoor market.", "A crowded fruit stall in the street."],
               "People are shopping for clothes at a market."),
    "boat": (["A red boat lies on the beach.", "A small red boat on the sand."], "A red car is parked on the beach."),
    "rain": (["A woman with an umbrella crosses the street.", "A woman walks in the rain with an umbrella."],
             "A woman holding an umbrella walks across the road."),
}  # fmt: skip

if __name__ == "__main__":
    references, captions = zip(*PHOTOS.values(), strict=True)
    bert = evalign.metric("bertscore(rescale=true)")
    report = bert.score(captions, references)
    for name, caption, f1 in sorted(zip(PHOTOS, captions, report["f1"], strict=True), key=lambda row: row[2]):
        print(f"{f1:7.4f}  {name:7} {caption}")
    alignment = evalign.metric("bertscore").align(captions[2], references[2][0])
    tokens, values = alignment.candidate.pieces, alignment.candidate_values
    own = [place for place, piece in enumerate(tokens) if piece.isalpha()]
    print("worst matched word of the boat:", tokens[min(own, key=lambda place: values[place])])
