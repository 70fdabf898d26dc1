// The server's page: three tabs, the theme, and the state in the address. The tabs show pair/form.js, upload/panel.js
// with corpus/view.js, and inside/panel.js.

import { createView as createCorpusView } from "./corpus/view.js";
import { createPanel as createInsidePanel } from "./inside/panel.js";
import { createForm as createPairForm } from "./pair/form.js";
import { htmlFile, makeApi } from "./server/api.js";
import { idfCache, makeCompare, rowAligner, testDifferences, withAlignments } from "./server/request_series.js";
import { announce, byId } from "./shared/dom.js";
import { fragmentProblem, readFragment, writeFragment } from "./shared/url_state.js";
import { createPanel as createUploadPanel } from "./upload/panel.js";
import { createResults } from "./upload/results.js";

const TABS = ["pair", "corpus", "inside"];

startApp();

async function startApp() {
  startTheme();
  const api = makeApi();
  const state = { tab: "pair", ...readFragment() };
  const tabs = startTabs((tab) => writeFragment(Object.assign(state, { tab }), true));
  tabs.show(state.tab);
  showLinkProblem(fragmentProblem());
  let rows = null; // of the open corpus
  let corpus = null;
  try {
    const [{ models }, { metrics }, about, examples] = await Promise.all([
      api.models(),
      api.metrics(),
      api.about(),
      fetch("/page/examples.json").then((answer) => answer.json()),
    ]);
    byId("version").textContent = about.evalign;
    const compare = makeCompare(api, about.limits);
    const idfTexts = (kind) =>
      rows?.flatMap((row) => (kind === "sources" ? [row.source ?? ""] : (row.references ?? []))) ?? null;
    const idf = idfCache(api, (kind) => idfTexts(kind) ?? examples.map((example) => example.reference));
    const form = createPairForm({
      api,
      models,
      metrics,
      examples,
      idf,
      idfTexts,
      canGoBack: () => rows !== null,
      back: () => {
        tabs.go("corpus");
        corpus.focusRow();
      },
      onState: (pair, view) => writeFragment(Object.assign(state, { pair, view })),
      onProblem: showLinkProblem,
    });
    const results = createResults(byId("corpus-head"), { draw: showCorpus, clear: clearCorpus });
    createUploadPanel(byId("upload"), {
      api: { ...api, compare },
      models,
      limits: about.limits,
      version: about.evalign,
      metrics: () => metrics,
      onCorpus: (doc, name) => {
        showLinkProblem("");
        if (corpus) clearCorpus(); // its filters and order do not fit another document
        results.show(doc, name);
      },
      onFile: results.outdated,
      onRunning: results.running,
      onAlignment: (doc) => {
        tabs.go("pair");
        form.open(doc.candidate.text, doc.reference.text);
      },
    });
    createInsidePanel(byId("inside"), { api, likelihood: about.likelihood });
    form.restore(state.pair, state.view);
    byId("align").disabled = false; // it does nothing until the form is wired
    const begin = () => !byId("pair").hidden && form.begin();
    begin();
    byId("tab-pair").addEventListener("focus", begin);
    byId("tab-pair").addEventListener("click", begin);
    const restored = await results.restore();
    if (state.corpus && !restored) {
      showLinkProblem("This link shows scores of a file, and a link does not hold the file: open it under Many pairs.");
    }
    addEventListener("hashchange", () => {
      const linked = readFragment();
      showLinkProblem(fragmentProblem());
      if (!linked) return;
      Object.assign(state, linked);
      tabs.show(state.tab);
      form.restore(state.pair, state.view);
      if (state.corpus) corpus?.apply(state.corpus);
    });

    function showCorpus(doc) {
      rows = doc.rows;
      form.corpusChanged();
      const options = {
        state: state.corpus ?? {},
        onState: (seen) => writeFragment(Object.assign(state, { corpus: seen })),
        opens: () => true,
        openPair: (pair) => {
          tabs.go("pair");
          const shown = form.openScored(pair); // before the focus, which shows the example of an empty form
          byId("tab-pair").focus();
          return shown;
        },
        compare: (table, baseline) => testDifferences(compare, table, baseline),
        exportHtml: async (shown, pairs) =>
          htmlFile(
            await withAlignments(shown, pairs, rowAligner(api, idf), (done, all) =>
              announce(`Aligning row ${done} of ${all} for the file.`),
            ),
          ),
      };
      corpus = createCorpusView(byId("corpus-result"), doc, options);
    }

    function clearCorpus() {
      corpus?.destroy();
      corpus = null;
      rows = null;
      delete state.corpus;
      writeFragment(state);
      form.corpusChanged();
    }
  } catch (error) {
    announce(error.message);
    byId("pair-error").hidden = false;
    byId("pair-error").textContent = error.message;
  } finally {
    byId("main").removeAttribute("aria-busy");
  }
}

/** Show what is wrong with the link that led here; an empty sentence hides the message. */
function showLinkProblem(sentence) {
  byId("link-problem").textContent = sentence;
  byId("link-problem").hidden = !sentence;
}

/**
 * Make the tabs work by mouse and arrow keys; `go` shows a tab and adds an entry to the history, `show` only shows it.
 */
function startTabs(onStep) {
  const buttons = TABS.map((name) => byId(`tab-${name}`));
  function show(name) {
    const chosen = TABS.includes(name) ? name : TABS[0];
    TABS.forEach((tab, index) => {
      buttons[index].setAttribute("aria-selected", String(tab === chosen));
      buttons[index].tabIndex = tab === chosen ? 0 : -1;
      byId(tab).hidden = tab !== chosen;
    });
  }
  function go(name) {
    show(name);
    onStep(name);
  }
  buttons.forEach((button, index) => {
    button.addEventListener("click", () => go(TABS[index]));
    button.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = (index + step + buttons.length) % buttons.length;
      go(TABS[next]);
      buttons[next].focus();
    });
  });
  document.querySelector(".skip-link").addEventListener("click", (event) => {
    event.preventDefault(); // following the link would replace the state in the address
    byId("main").focus();
  });
  return { show, go };
}

/** Make the button of the theme work: light, dark, or the system's; the reader's choice is stored in this browser. */
function startTheme() {
  const button = byId("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const say = () => {
    button.textContent = isDark() ? "Light theme" : "Dark theme";
  };
  const saved = localStorage.getItem("evalign-theme");
  if (saved === "light" || saved === "dark") root.dataset.theme = saved;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    localStorage.setItem("evalign-theme", root.dataset.theme);
    say();
  });
  system.addEventListener("change", say);
  say();
}
