// The entry of an exported corpus report that carries no alignments.

import { startView } from "../shared/standalone_page.js";
import { corpusView } from "./view.js";

startView(corpusView);
