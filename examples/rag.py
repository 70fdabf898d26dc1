"""Answers of a retrieval system: is each sentence of an answer supported by the passages, and is the question answered?

Every sentence of the answer is aligned with every passage; the best precision says how well it is supported. A low one
is a sentence to look at, not a proof: encoders find opposites and other numbers alike.

Prints:

    supported: recall of the reference 0.8561
      0.9205 by passage 1: The lighthouse was built of granite in 1871.
      0.6876 by passage 3: It can be climbed by visitors from May to September.
    half: recall of the reference 0.4560
      0.9205 by passage 1: The lighthouse was built of granite in 1871.
      0.1364 by passage 1: A restaurant at its foot serves fresh fish.
    invented: recall of the reference 0.1551
      0.3102 by passage 1: Pirates used the cave below the cliff.
      0.1364 by passage 1: A restaurant at its foot serves fresh fish.
"""

import evalign

PASSAGES = [
    "The lighthouse was built in 1871 from granite that came by ship.",
    "Since 1987 its lamp has been switched on by a sensor, and no keeper lives there.",
    "Visitors may climb the 158 steps from May to September.",
]
REFERENCE = "It was built in 1871. Visitors may climb it from May to September."
ANSWERS = {
    "supported": [
        "The lighthouse was built of granite in 1871.",
        "It can be climbed by visitors from May to September.",
    ],
    "half": ["The lighthouse was built of granite in 1871.", "A restaurant at its foot serves fresh fish."],
    "invented": ["Pirates used the cave below the cliff.", "A restaurant at its foot serves fresh fish."],
}

if __name__ == "__main__":
    bert = evalign.metric("bertscore(rescale=true)")
    for name, sentences in ANSWERS.items():
        support = bert.pairwise(sentences, PASSAGES)["precision"]
        answer = bert.score([" ".join(sentences)], [REFERENCE])["recall"][0]
        print(f"{name}: recall of the reference {answer:.4f}")
        for sentence, row in zip(sentences, support, strict=True):
            print(f"  {row.max():.4f} by passage {row.argmax() + 1}: {sentence}")
