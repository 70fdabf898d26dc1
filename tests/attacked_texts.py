"""Five references and honest candidates, which cheap tricks are then played on."""

REFERENCES = [
    "The city library was rebuilt for three years and opened again on Saturday.",
    "Do not stop taking the medicine suddenly but ask a doctor first.",
    "The storm was strong but nobody was hurt and only some roofs were damaged.",
    "The council voted against turning the old park into a parking lot.",
    "Farmers in the north are worried because it has not rained since spring.",
]
CANDIDATES = [
    "The library in the city was opened again on Saturday.",
    "Ask your doctor before you stop taking this medicine.",
    "Nobody was hurt in the storm but it damaged several roofs.",
    "The council did not want to turn the park into a parking lot.",
    "It has not rained since spring and the farmers worry.",
]
