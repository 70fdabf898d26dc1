// Sections that installed packages add to the tab "Inside models". The server and the exporter put a module in the place
// of this one that imports them from the packages.

export const PLUGGED_SECTIONS = [];
