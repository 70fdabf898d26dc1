// The entry of an exported trace of an LSTM.

import { startView } from "../shared/standalone_page.js";
import { lstmView } from "./view.js";

startView(lstmView);
