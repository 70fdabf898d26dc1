// The server's page: three tabs, the theme, and the state in the address. What the tabs show is in pair/form.js,
// upload/panel.js with corpus/view.js, and inside/panel.js.

import { corpusView } from "./corpus/view.js";
import { insidePanel } from "./inside/panel.js";
import { pairForm } from "./pair/form.js";
import { makeApi } from "./server/api.js";
import { comparer } from "./server/comparison.js";
import { corpusIdf } from "./server/corpus_idf.js";
import { htmlFile } from "./server/html_export.js";
import { alignedAs, withAlignments } from "./server/row_alignments.js";
import { announce, byId } from "./shared/dom.js";
import { fragmentProblem, readFragment, writeFragment } from "./shared/url_state.js";
import { uploadPanel } from "./upload/panel.js";
import { runResults } from "./upload/results.js";

const APP_TABS = ["pair", "corpus", "inside"];

startApp();

async function startApp() {
  startTheme();
  const api = makeApi();
  const state = { tab: "pair", ...readFragment() };
  const tabs = startTabs((tab) => writeFragment(Object.assign(state, { tab }), true));
  tabs.show(state.tab);
  sayLinkProblem(fragmentProblem());
  let rows = null; // of the corpus that is open
  let corpus = null;
  try {
    const [{ models }, { metrics }, about, examples] = await Promise.all([
      api.models(),
      api.metrics(),
      api.about(),
      fetch("/page/examples.json").then((answer) => answer.json()),
    ]);
    byId("version").textContent = about.evalign;
    const compare = comparer(api, about.limits);
    const idfTexts = (kind) =>
      rows?.flatMap((row) => (kind === "sources" ? [row.source ?? ""] : (row.references ?? []))) ?? null;
    const idf = corpusIdf(api, (kind) => idfTexts(kind) ?? examples.map((example) => example.reference));
    const form = pairForm({
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
      onProblem: sayLinkProblem,
    });
    const results = runResults(byId("corpus-head"), { draw: showCorpus, clear: clearCorpus });
    uploadPanel(byId("upload"), {
      api: { ...api, compare },
      models,
      limits: about.limits,
      version: about.evalign,
      metrics: () => metrics,
      onCorpus: (doc, name) => {
        sayLinkProblem("");
        if (corpus) clearCorpus(); // what was filtered and sorted there says nothing here
        results.show(doc, name);
      },
      onFile: results.outdated,
      onRunning: results.running,
      onAlignment: (doc) => {
        tabs.go("pair");
        form.open(doc.candidate.text, doc.reference.text);
      },
    });
    insidePanel(byId("inside"), { api, likelihood: about.likelihood });
    form.restore(state.pair, state.view);
    byId("align").disabled = false; // it does nothing until the form is wired
    const begin = () => !byId("pair").hidden && form.begin();
    begin();
    byId("tab-pair").addEventListener("focus", begin);
    byId("tab-pair").addEventListener("click", begin);
    const restored = await results.restore();
    if (state.corpus && !restored) {
      sayLinkProblem("This link shows scores of a file, and a link does not hold the file: open it under Many pairs.");
    }
    addEventListener("hashchange", () => {
      const linked = readFragment();
      sayLinkProblem(fragmentProblem());
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
          byId("tab-pair").focus();
          return form.openScored(pair);
        },
        compare,
        exportHtml: async (shown, pairs) =>
          htmlFile(
            await withAlignments(shown, pairs, alignedAs(api, idf), (done, all) =>
              announce(`Aligning row ${done} of ${all} for the file.`),
            ),
          ),
      };
      corpus = corpusView(byId("corpus-result"), doc, options);
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

/** What is wrong with the link that led here; nothing if the sentence is empty. */
function sayLinkProblem(sentence) {
  byId("link-problem").textContent = sentence;
  byId("link-problem").hidden = !sentence;
}

/** Tabs by mouse and arrow keys; `go` shows a tab and adds a step to the browser's history, `show` only shows it. */
function startTabs(onStep) {
  const buttons = APP_TABS.map((name) => byId(`tab-${name}`));
  function show(name) {
    const chosen = APP_TABS.includes(name) ? name : APP_TABS[0];
    APP_TABS.forEach((tab, place) => {
      buttons[place].setAttribute("aria-selected", String(tab === chosen));
      buttons[place].tabIndex = tab === chosen ? 0 : -1;
      byId(tab).hidden = tab !== chosen;
    });
  }
  function go(name) {
    show(name);
    onStep(name);
  }
  buttons.forEach((button, place) => {
    button.addEventListener("click", () => go(APP_TABS[place]));
    button.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = (place + step + buttons.length) % buttons.length;
      go(APP_TABS[next]);
      buttons[next].focus();
    });
  });
  document.querySelector(".skip-link").addEventListener("click", (event) => {
    event.preventDefault(); // following the link would replace the state in the address
    byId("main").focus();
  });
  return { show, go };
}

/** Light, dark, or the system's choice; what the reader chooses is stored in this browser. */
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
