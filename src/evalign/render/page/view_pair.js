// The entry of an exported alignment.

import { startView } from "./view.js";
import { pairView } from "./pair.js";

startView(pairView);
