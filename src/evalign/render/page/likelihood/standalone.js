// The entry of exported log-probabilities.

import { startView } from "../shared/standalone_page.js";
import { likelihoodView } from "./view.js";

startView(likelihoodView);
