// The entry of an exported corpus report.

import { startView } from "../shared/standalone_page.js";
import { corpusView } from "./view.js";

startView(corpusView);
