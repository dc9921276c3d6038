// The frame of the page: header, views by route, what the server has, language, light or dark, and the key where one is wanted.

import * as api from "./api.js";
import { Ask, whenArrived } from "./ask.js";
import { Diagnose } from "./diagnose.js";
import { Graph } from "./graph.js";
import { keptForTab } from "./history.js";
import { Compare, Described, Graphs, Reports } from "./more.js";
import { link, route, setAddresses, Trouble, Wait } from "./parts.js";
import { html, render, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { currentLanguage, keep, number, recall, setLanguage, startLanguage, t } from "./words.js";

const VIEWS = { ask: Ask, run: Ask, diagnose: Diagnose, graph: Graph, compare: Compare, reports: Reports, graphs: Graphs, docs: Described };
const SHOWN = ["ask", "diagnose", "graph", "compare", "reports", "graphs"];
const THEMES = ["auto", "light", "dark"];
const last = {}; // where each view was left: its link in the menu leads back there

function Page() {
  const [where, setWhere] = useState(route());
  const [language, change] = useState(currentLanguage());
  const [served, setServed] = useState({ step: "loading" });
  const [wanted, want] = useState(false);
  const main = useRef(null);
  const moved = useRef(false);

  const load = async () => {
    try {
      const about = await api.about();
      setAddresses(about.links);
      keptForTab(about.keyed);
      if (about.opening) {
        setServed({ step: "opening", about, graphs: [], methods: [] });
        setTimeout(load, 700);
      } else {
        const [graphs, methods] = await Promise.all([api.graphs(), api.methods()]);
        setServed({ step: "there", about, graphs, methods });
      }
    } catch (problem) {
      setServed((now) => (now.step === "there" ? now : { step: problem.status === 503 ? "starting" : "trouble", problem }));
      if (problem.status === 503) setTimeout(load, 1500);
    }
  };
  useEffect(() => {
    const follow = () => (setWhere(route()), (moved.current = true));
    addEventListener("hashchange", follow);
    addEventListener("popstate", follow);
    api.onKeyWanted(() => want(true));
    whenArrived((at) => ((last.ask = at), setWhere(route())));
    addEventListener("keydown", toField);
    load();
    return () => (removeEventListener("keydown", toField), removeEventListener("hashchange", follow), removeEventListener("popstate", follow));
  }, []);
  const view = VIEWS[where.view] ? (where.view === "run" ? "ask" : where.view) : "";
  useEffect(() => {
    if (view) last[view] = location.hash;
    document.title = view ? `${t(view)} · kgmed` : "kgmed";
    if (moved.current && main.current && view !== "ask") main.current.focus({ preventScroll: true });
    if (moved.current) scrollTo(0, 0);
    moved.current = false;
  }, [where, language]);

  const speak = () => {
    setLanguage(language === "en" ? "zh" : "en");
    change(currentLanguage());
  };
  const go = (to) => (location.hash = to);
  const arrive = (at) => (history.pushState(null, "", at), setWhere(route())); // where the visitor is already
  const Shown = VIEWS[where.view];
  return html`<a class="skip" href="#main" onClick=${(e) => (e.preventDefault(), main.current.focus())}>${t("skip")}</a>
    <${Header} view=${view} speak=${speak} />
    <main id="main" tabindex="-1" ref=${main}>
      ${wanted && html`<${Key} done=${() => (want(false), load())} />`}
      ${!Shown && html`<div class="panel"><h1>${t("nothingThere")}</h1><p><a href=${link("ask")}>${t("backToAsk")}</a></p></div>`}
      ${Shown && served.step === "loading" && html`<${Wait} />`}
      ${Shown && served.step === "starting" && html`<${Wait} text=${t("starting")} />`}
      ${Shown && served.step === "opening" && html`<${Opening} opening=${served.about.opening} />`}
      ${Shown && served.step === "trouble" && !wanted && html`<${Trouble} problem=${served.problem} again=${load} />`}
      ${Shown && (served.step === "there" || (served.step === "opening" && view === "ask")) && html`<${Shown} key=${view} ...${{ where, served, go, arrive, language, reload: load }} />`}
    </main>
    <${Footer} graphs=${served.step === "there" ? served.graphs : null} />`;
}

function Header({ view, speak }) {
  const [theme, set] = useState(THEMES.includes(recall("kgmed-theme")) ? recall("kgmed-theme") : "auto");
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    keep("kgmed-theme", theme);
  }, [theme]);
  const nav = useRef(null);
  useEffect(() => {
    const here = nav.current.querySelector("[aria-current]");
    if (here) nav.current.scrollLeft = here.offsetLeft - 16;
  }, [view]);
  const words = { auto: t("themeAuto"), light: t("themeLight"), dark: t("themeDark") };
  return html`<header class="top">
    <a class="mark" href=${link("ask")}><img src="icon.svg" width="26" height="26" alt="" />kgmed</a>
    <nav aria-label=${t("views")} ref=${nav}>
      ${SHOWN.map((name) => html`<a href=${name === view ? link(name) : last[name] || link(name)} aria-current=${name === view ? "page" : undefined}>${t(name)}</a>`)}
    </nav>
    <div class="tastes">
      <button type="button" class="quiet" lang=${currentLanguage() === "en" ? "zh-CN" : "en"} aria-label=${t("languageLabel")} onClick=${speak}>${t("language")}</button>
      <button type="button" class="quiet" aria-label=${`${t("theme")}: ${words[theme]}`} onClick=${() => set(THEMES[(THEMES.indexOf(theme) + 1) % 3])}>${words[theme]}</button>
    </div>
  </header>`;
}

/** "/" goes to the field of the view, unless something is being typed. */
function toField(event) {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  const field = /** @type {HTMLElement | null} */ (document.querySelector("main textarea, main input[type=text]"));
  if (field) (event.preventDefault(), field.focus());
}

/** What the server does before it answers; a question is taken meanwhile. */
const Opening = ({ opening }) => html`<${Wait} text=${opening.doing === "joining" && opening.rows ? t("joining", number(opening.rows)) : t("starting")} />`;

/** Always there: that this is no advice, and which releases speak. */
function Footer({ graphs }) {
  const labels = (graphs || []).filter((g) => g.name !== "auto").map((g) => `${g.name} ${g.release}`);
  return html`<footer>
    <p><strong>${t("notAdvice")}</strong> ${t("noticeLong")}</p>
    <p>${t("release")}: <a href=${link("graphs")}>${graphs ? labels.join(" · ") || t("noGraphs") : t("loading")}</a> · <a href=${link("docs")}>${t("docs")}</a></p>
  </footer>`;
}

/** Asks for the key that the server wants. */
function Key({ done }) {
  const [key, set] = useState("");
  const field = useRef(null);
  useEffect(() => field.current.focus(), []);
  const submit = (event) => (event.preventDefault(), api.setKey(key.trim()), done());
  return html`<form class="panel key" onSubmit=${submit}>
    <h2>${t("keyTitle")}</h2><p>${t("keyHelp")}</p>
    <label>${t("key")} <input type="password" autocomplete="off" ref=${field} value=${key} onInput=${(e) => set(e.target.value)} /></label>
    <button type="submit" class="main" disabled=${!key.trim()}>${t("useKey")}</button>
  </form>`;
}

startLanguage();
const page = document.getElementById("page");
page.replaceChildren();
render(html`<${Page} />`, page);
