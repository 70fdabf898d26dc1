// The entry of an exported corpus report.

import { startView } from "./view.js";
import { corpusView } from "./corpus.js";

startView(corpusView);
