// The entry of exported log-probabilities.

import { startView } from "./view.js";
import { likelihoodView } from "./likelihood.js";

startView(likelihoodView);
