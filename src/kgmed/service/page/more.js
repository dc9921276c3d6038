// The smaller views: several methods side by side, the evaluations that were kept, and the graphs that are installed.

import * as api from "./api.js";
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { aboutMethod, Copy, link, permanent, Room, saveAs, sendingKeys, Trouble, useId, useLoaded, Wait } from "./parts.js";
import { bytes, languageName, number, roleName, ROLE_ORDER, t } from "./words.js";

// --- Compare.

const FIRST = ["facts", "kg-rank", "mindmap"]; // chosen at first, where they can be asked

export function Compare({ where, served, arrive }) {
  const can = served.methods.filter((m) => m.available);
  const cannot = served.methods.filter((m) => !m.available);
  const [text, setText] = useState(where.given.q || "");
  const [chosen, choose] = useState(() => FIRST.filter((name) => can.some((m) => m.name === name)));
  const [state, set] = useState({ step: "idle" });
  const stop = useRef(null);
  const id = useId("compared");
  const most = served.about.longest;
  useEffect(() => () => stop.current && stop.current.abort(), []);
  useEffect(() => setText(where.given.q || ""), [where.given.q]);
  const linked = where.given.runs || "";
  useEffect(() => {
    const ids = linked.split(",").filter(Boolean).slice(0, 8);
    if (!ids.length || (state.runs && linked === idsOf(state.runs))) return;
    set({ step: "working" });
    Promise.all(ids.map((one) => api.run(one))).then((runs) => {
      const named = runs.map((run) => ({ method: run.method.split(" ")[0], run })); // without what a method says of how it ran
      choose(named.map(({ method }) => method).filter((name) => can.some((m) => m.name === name)));
      set({ step: "done", runs: named });
    }, (problem) => set({ step: "trouble", problem }));
  }, [linked]);
  const submit = async (event) => {
    event.preventDefault();
    if (!text.trim() || !chosen.length || text.length > most || state.step === "working") return;
    const mine = (stop.current = new AbortController());
    set({ step: "working" });
    try {
      const runs = await api.compare({ question: text.trim(), methods: chosen, translated: true }, mine.signal);
      set({ step: "done", runs });
      if (idsOf(runs)) arrive(link("compare", [], { q: text.trim(), runs: idsOf(runs) }));
    } catch (problem) {
      set(problem.name === "AbortError" ? { step: "stopped" } : { step: "trouble", problem });
    }
  };
  const flip = (name) => choose((now) => (now.includes(name) ? now.filter((n) => n !== name) : [...now, name].slice(-8)));
  return html`<div class="compare">
    <form class="question" onSubmit=${submit}>
      <h1>${t("compareTitle")}</h1>
      <p class="lead">${t("compareLead")}</p>
      <label class="unseen" for=${id}>${t("question")}</label>
      <div class="question-row">
        <textarea id=${id} rows="2" value=${text} onInput=${(e) => setText(e.target.value)} onKeyDown=${sendingKeys(submit)}></textarea>
        <button type="submit" class="main" disabled=${!text.trim() || !chosen.length || text.length > most} aria-disabled=${state.step === "working" ? "true" : undefined}>${t("compareButton")}</button>
      </div>
      <${Room} text=${text} most=${most} />
      <fieldset class="methods"><legend>${t("methods")}</legend>
        ${can.map(
          (m) => html`<label class="check"><input type="checkbox" checked=${chosen.includes(m.name)} onChange=${() => flip(m.name)} /> ${m.name}</label>`,
        )}
      </fieldset>
      <ul class="hint">${can.filter((m) => chosen.includes(m.name)).map((m) => html`<li><strong>${m.name}</strong> ${aboutMethod(m)}</li>`)}</ul>
      ${cannot.length > 0 && html`<p class="hint">${t("needModel", cannot.map((m) => m.name).join(", "))}</p>`}
      ${!chosen.length && html`<p class="hint" role="status">${t("pickMethods")}</p>`}
    </form>
    ${state.step === "working" && html`<div class="panel-head"><${Wait} text=${t("working")} />${stop.current && html`<button type="button" class="stop" onClick=${() => stop.current.abort()}>${t("stop")}</button>`}</div>`}
    ${state.step === "stopped" && html`<p class="panel" role="status">${t("stopped")}</p>`}
    ${state.step === "trouble" && html`<${Trouble} problem=${state.problem} />`}
    ${state.step === "done" && linked && html`<div class="actions"><${Copy} text=${permanent("compare", [], { q: text, runs: linked })} label=${t("copyLink")} /></div>`}
    ${state.step === "done" && html`<div class="columns">${state.runs.map((one) => html`<${Compared} key=${one.method} one=${one} />`)}</div>`}
  </div>`;
}

const idsOf = (runs) => runs.map(({ run }) => run && run.id).filter(Boolean).join(",");

function Compared({ one: { method, run, error } }) {
  if (!run) return html`<section class="panel trouble"><h2>${method} <small>${t("failed")}</small></h2><p>${error}</p></section>`;
  const seconds = run.stages.reduce((sum, s) => sum + s.seconds, 0);
  const piece = (part) => {
    const [, n] = /^\[(\d+)\]$/.exec(part) || [];
    return n ? html`<a class="cite" href=${link("run", [run.id, n])} aria-label=${t("citation", n)}>${n}</a>` : part;
  };
  return html`<section class=${`panel ${run.answer.abstained ? "abstained" : ""}`}>
    <h2>${method} ${run.answer.abstained && html`<small>${t("abstained")}</small>`}</h2>
    <div class="answer-text">${run.answer.text.split("\n").map((line) => html`<p>${line.replace(/^- /, "• ").split(/(\[\d+\])/).map(piece)}</p>`)}</div>
    <p class="hint">${seconds < 1 ? seconds.toFixed(3) : seconds.toFixed(1)} s · ${t("citedCount", run.answer.citations.length)}${run.spent.calls > 0 && ` · ${number(run.spent.tokens_in + run.spent.tokens_out)} ${t("tokens")}`}</p>
    <p><a href=${link("run", [run.id])}>${t("openRun")}</a></p>
  </section>`;
}

// --- Reports: each is a page of its own, which runs no script; with a key it can only be saved.

const REPORT = "kgmed eval report FOLDER --out REPORTS/NAME";
const SHOW = "kgmed serve --reports REPORTS";

export function Reports({ served }) {
  const { value, problem, again } = useLoaded(api.reports, []);
  return html`<div class="reports"><h1>${t("reportsTitle")}</h1>
    ${problem && html`<${Trouble} problem=${problem} again=${again} />`} ${!value && !problem && html`<${Wait} />`}
    ${value &&
    html`<div class="panel">
      ${value.length === 0 && html`<p>${t("reportsNone")}</p>`}
      <ul class="plain-list">${value.map((report) => html`<${Report} key=${report.id} report=${report} keyed=${served.about.keyed} />`)}</ul>
      <p class="hint">${t("reportsMake")}</p><${Command} text=${REPORT} /><${Command} text=${SHOW} />
    </div>`}
  </div>`;
}

function Report({ report: { id, name, written }, keyed }) {
  const [trouble, setTrouble] = useState(null);
  const save = () => api.report(id).then((text) => saveAs(`${name}.html`, text, "text/html"), setTrouble);
  return html`<li>
    <strong>${name}</strong> <small>${written.slice(0, 16).replace("T", " ")}</small>
    ${!keyed && html` <a href=${api.addressOfReport(id)} target="_blank" rel="noopener noreferrer">${t("openReport")}</a>`}
    <button type="button" class="quiet" aria-label=${`${t("saveReport")}: ${name}`} onClick=${save}>${t("saveReport")}</button>
    ${trouble && html`<${Trouble} problem=${trouble} again=${save} />`}
  </li>`;
}

// --- The REST interface, from its own description.

export function Described() {
  const { value, problem, again } = useLoaded(api.described, []);
  if (!value) return problem ? html`<${Trouble} problem=${problem} again=${again} />` : html`<${Wait} />`;
  const doors = Object.entries(value.paths).flatMap(([path, all]) => Object.entries(all).map(([method, door]) => ({ path, method, door })));
  const named = (schema = {}) => schema.$ref ? schema.$ref.split("/").pop() : schema.anyOf ? schema.anyOf.map(named).join(" | ") : schema.items ? `[${named(schema.items)}]` : schema.type || "";
  const fields = (schema) => {
    const { properties = {}, required = [] } = value.components.schemas[named(schema)] || {};
    return Object.entries(properties).map(([name, given]) => ({ name, schema: given, required: required.includes(name), description: given.description }));
  };
  const told = (one) => html`<div><dt><code>${one.name}</code></dt><dd>${named(one.schema)}${one.required && ` · ${t("required")}`}${one.description && ` · ${one.description}`}</dd></div>`;
  return html`<div class="described"><h1>${t("docs")}</h1><p class="lead">${t("docsLead")} <a href="openapi.json">openapi.json</a></p>
    ${doors.map(({ path, method, door }) => {
      const body = (Object.values((door.requestBody || {}).content || {})[0] || {}).schema;
      const parts = body && body.anyOf ? body.anyOf : [body];
      const taken = [...(door.parameters || []), ...parts.flatMap(fields)];
      return html`<details class="panel"><summary><code>${method.toUpperCase()} ${path}</code> ${door.summary}</summary>
        ${door.description !== door.summary && html`<p>${door.description}</p>`}
        ${taken.length > 0 && html`<h2>${t("parameters")}</h2><dl class="plain">${taken.map(told)}</dl>`}
        <h2>${t("responses")}</h2><dl class="plain">${Object.entries(door.responses).map(([status, one]) => html`<div><dt>${status}</dt><dd>${one.description}</dd></div>`)}</dl>
      </details>`;
    })}</div>`;
}

// --- My graphs.

export function Graphs({ served, reload }) {
  const graphs = served.graphs.filter((g) => g.name !== "auto");
  const { value: first = [] } = useLoaded(api.available, []);
  const [newer, setNewer] = useState(null);
  const [trouble, setTrouble] = useState(null);
  const can = newer || first;
  const busy = can.some((g) => g.fetching && ["fetching", "building", "preparing"].includes(g.fetching.doing));
  useEffect(() => {
    const timer = busy && setTimeout(() => api.available().then(setNewer, setTrouble), 500);
    return () => clearTimeout(timer);
  }, [newer, first]);
  const come = can.filter((g) => g.fetching && g.fetching.doing === "done" && !graphs.some((h) => h.name === g.name)).length;
  useEffect(() => void (come > 0 && reload()), [come]);
  const fetchOne = (name) => api.fetchGraph(name).then(setNewer, setTrouble);
  const speaks = Object.fromEntries(can.map((g) => [g.name, g.languages]));
  return html`<div class="graphs"><h1>${t("graphsTitle")}</h1><p class="lead">${t("graphsLead")}</p>
    <div class="cards">${graphs.map((g) => html`<${Installed} key=${g.name} graph=${g} languages=${speaks[g.name] || g.language} />`)}</div>
    ${served.about.fetches && html`<${Own} can=${can} graphs=${graphs} built=${() => api.available().then(setNewer, setTrouble)} />`}
    <section class="panel" aria-labelledby="get-more"><h2 id="get-more">${t("getMore")}</h2><p>${t(served.about.fetches ? "getMoreLead" : "getMoreRun")}</p>
      <ul class="plain-list gettable">${can.filter((g) => !graphs.some((h) => h.name === g.name) && !g.command.endsWith(" FILE")).map((g) => html`<${Gettable} key=${g.name} graph=${g} fetchOne=${served.about.fetches && fetchOne} />`)}</ul>
      ${trouble && html`<${Trouble} problem=${trouble} />`}
      <p class="hint">${t("getByHand")}</p><${Command} text="kgmed graph get NAME --from FILE" />
      <h3>${t("yours")}</h3><${Command} text="kgmed graph build NAME FILE" />
    </section>
    </div>`;
}

/** A file of one's own as a graph: handed in, looked at, its columns put right, and built. */
function Own({ can, graphs, built }) {
  const [name, setName] = useState("");
  const [{ step, found, problem }, set] = useState({ step: "idle" });
  const [columns, setColumns] = useState("");
  const proposed = useRef(""); // what the columns seem to say
  const file = useRef(null);
  const seen = (step) => (found) => (set({ step, found }), setColumns(found.columns));
  const failed = (problem) => set((now) => ({ ...now, step: "trouble", problem }));
  const hand = (event) => {
    const [chosen] = event.target.files;
    event.target.value = "";
    if (!chosen) return;
    set({ step: "working" });
    api.upload(name, chosen).then((now) => ((proposed.current = now.columns), seen("seen")(now)), failed);
  };
  const go = (build) => {
    set({ step: "working", found });
    const changed = columns === proposed.current ? "" : columns;
    api.buildUpload(found.name, { columns: changed, build }).then((now) => (seen(build && !now.problem ? "building" : "seen")(now), build && built()), failed);
  };
  const rows = found && found.preview;
  const mine = found && can.find((g) => g.name === found.name && g.fetching);
  return html`<section class="panel own" aria-labelledby="own"><h2 id="own">${t("ownTitle")}</h2><p>${t("ownLead")}</p>
    <div class="fields">
      <label>${t("ownName")} <input type="text" size="16" autocomplete="off" value=${name} onInput=${(e) => setName(e.target.value.toLowerCase())} /></label>
      <button type="button" disabled=${!/^[a-z0-9][a-z0-9_-]*$/.test(name) || step === "working"} onClick=${() => file.current.click()}>${t("ownFile")}</button>
      <input ref=${file} type="file" accept=".csv,.tsv,.txt,.json,.jsonl,.ttl,.nt,.obo,.owl,.rdf,.xml,.graphml" hidden onChange=${hand} aria-label=${t("ownFile")} />
    </div>
    ${step === "working" && html`<${Wait} text=${t("working")} />`}
    ${step === "trouble" && html`<${Trouble} problem=${problem} />`}
    ${found && found.problem && html`<p class="notice" role="status">${found.problem}</p>`}
    ${rows && html`<div class="seen"><h3>${t("ownSeen")}</h3>
      <p>${t(rows.whole ? "ownAll" : "ownFirst", number(rows.read))}</p>
      <p><strong>${t("ownKinds")}</strong> ${rows.kinds.slice(0, 12).map(([kind, n]) => `${kind || t("nothing")} ${number(n)}`).join(" · ")}</p>
      <p><strong>${t("ownRelations")}</strong> ${rows.relations.slice(0, 12).map(([relation, n]) => `${relation.name} ${number(n)} (${roleName(relation.role, relation.reverse)})`).join(" · ")}</p>
      <ul>${rows.triples.slice(0, 5).map((triple) => html`<li>${triple.join(" — ")}</li>`)}</ul>
      ${[...rows.dropped, ...rows.unsure].map((one) => html`<p class="notice">${one}</p>`)}
    </div>`}
    ${found && found.columns && html`<details open=${!rows}><summary>${t("ownColumns")}</summary><textarea aria-label=${t("ownColumns")} rows="8" spellcheck="false" value=${columns} onInput=${(e) => setColumns(e.target.value)}></textarea>
      <button type="button" class="quiet" disabled=${step === "working"} onClick=${() => go(false)}>${t("ownAgain")}</button></details>`}
    ${rows && step !== "building" && html`<div class="actions"><button type="button" class="main" disabled=${step === "working"} onClick=${() => go(true)}>${t("ownBuild")}</button></div>`}
    ${step === "building" && mine && (mine.fetching.doing === "done" ? (graphs.some((g) => g.name === mine.name) ? html`<p role="status">${t("joined", mine.name)} <a href=${link("ask")}>${t("askIt")}</a></p>` : html`<p role="status">${t("serveAgain")}</p>`) : html`<${Fetching} graph=${mine} />`)}
  </section>`;
}

/** A graph that can be had: what it is, its licence, and a button where the server may fetch it, else the command. */
const Gettable = ({ graph: g, fetchOne }) => html`<li>
  <p><strong>${g.name}</strong> ${g.what} <small>${[g.release, g.size ? bytes(g.size) : "", g.licence].filter(Boolean).join(" · ")}</small></p>
  ${g.here || (g.fetching && g.fetching.doing === "done")
    ? html`<p role="status">${t("serveAgain")}</p>`
    : html`${g.fetching && html`<${Fetching} graph=${g} />`}<div class="get">
        ${fetchOne && (!g.fetching || g.fetching.doing === "failed") && html`<button type="button" aria-label=${`${t("getIt")}: ${g.name}`} onClick=${() => fetchOne(g.name)}>${t("getIt")}</button>`}
        ${!fetchOne && html`<${Command} text=${g.command} />`}</div>`}
</li>`;

/** How far it is: bytes, then rows; or why it has failed. */
function Fetching({ graph: { name, size, fetching: { doing, done, problem } } }) {
  if (doing === "failed") return html`<p class="trouble" role="alert">${problem}</p>`;
  const said = doing === "fetching" ? `${bytes(done)} / ${bytes(size)}` : doing === "building" ? number(done) : "";
  return html`<p role="status">${t(doing)} ${said} <progress aria-label=${`${t(doing)}: ${name}`} max=${size || 1} value=${doing === "fetching" && size ? done : undefined}></progress></p>`;
}

const speaking = (codes) => codes.split(/[ ,]+/).filter(Boolean).map(languageName).join(", ");

function Installed({ graph: g, languages }) {
  const roles = ROLE_ORDER.filter((role) => role !== "other" && g.relations.some((r) => r.role === role));
  const line = (key, value) => value && html`<div><dt>${t(key)}</dt><dd>${value}</dd></div>`;
  return html`<section class="panel" aria-label=${g.name}>
    <h2><a href=${link("graph", [g.name])}>${g.name}</a> <small>${g.release}</small></h2>
    <dl class="plain">
      ${line("entities", number(g.entities))} ${line("triples", number(g.triples))} ${line("size", bytes(g.bytes))}
      ${line("languages", speaking(languages))}
      ${line("licence", g.licence || t("licenceUnknown"))} ${line("cite", g.citation)}
      ${line("knows", roles.map((role) => roleName(role)).join(" · "))}
    </dl>
  </section>`;
}

const Command = ({ text }) => html`<p class="command"><code>${text}</code> <${Copy} text=${text} /></p>`;
