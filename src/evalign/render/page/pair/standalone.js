// The entry of an exported alignment.

import { startView } from "../shared/standalone_page.js";
import { pairView } from "./view.js";

startView(pairView);
