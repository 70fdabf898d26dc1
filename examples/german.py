"""German: characters and stems know the language; MiniLM is English and reads it as fragments.

Prints:

    metric                    nah     fern
    chrf                  63.8257  29.1942
    rouge1(stem=german)    0.7439   0.3638
    rougeL(stem=german)    0.6189   0.2767
    bertscore              0.8761   0.6911
    sbert                  0.8406   0.6676
"""

import evalign

REFERENZEN = [
    "Der Stadtrat hat den neuen Fahrplan einstimmig beschlossen.",
    "Wegen des Sturms fiel am Montag in vielen Schulen der Unterricht aus.",
    "Die Bibliothek sucht Freiwillige, die alten Menschen vorlesen.",
    "Im Museum sind Briefe zu sehen, die nie abgeschickt wurden.",
    "Bitte bewahren Sie die Fahrkarte bis zum Ende der Reise auf.",
]
SYSTEME = {
    "nah": [
        "Der neue Fahrplan wurde vom Stadtrat einstimmig beschlossen.",
        "Am Montag fiel der Unterricht an vielen Schulen wegen des Sturms aus.",
        "Die Bücherei sucht Freiwillige, die alten Leuten vorlesen.",
        "Das Museum zeigt Briefe, die nie abgeschickt wurden.",
        "Bitte heben Sie den Fahrschein bis zum Ende der Fahrt auf.",
    ],
    "fern": [
        "Der Bürgermeister stellte einen Plan vor.",
        "Der Sturm hat am Montag viele Bäume umgeworfen.",
        "In der Bibliothek lesen viele alte Menschen.",
        "Die Post hat Briefe nicht zugestellt.",
        "Am Ende der Reise war die Fahrkarte weg.",
    ],
}

if __name__ == "__main__":
    specs = ["chrf", "rouge1(stem=german)", "rougeL(stem=german)", "bertscore", "sbert"]
    print("metric".ljust(20), *(name.rjust(8) for name in SYSTEME))
    for spec in specs:
        metric = evalign.metric(spec)
        means = [metric.score(texts, REFERENZEN).mean(metric.main) for texts in SYSTEME.values()]
        print(spec.ljust(20), *(f"{mean:8.4f}" for mean in means))
