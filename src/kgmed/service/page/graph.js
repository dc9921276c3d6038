// Graph: search, an entity with all that is known of it by role, the source of each fact, and paths to another entity.

import * as api from "./api.js";
import { html, useEffect, useMemo, useState } from "./vendor/htm-preact.js";
import { Completing, FactCard, factsOf, frequencyOf, keyOf, link, objectOf, Reference, subjectOf, Tabs, FactsTable, Trouble, useLoaded, Wait } from "./parts.js";
import { Explore } from "./explore.js";
import { Picture } from "./picture.js";
import { currentLanguage, number, roleName, ROLE_ORDER, SAFETY, t } from "./words.js";

const PAGE = 24; // facts of a role that are asked for at once
const FIRST = 200; // facts that are asked for with a thing
const FOLDED = 12; // facts of a role that are shown at first
const DRAWN = matchMedia("(max-width: 44rem)").matches ? 20 : 60; // of these in the graph to walk in

/** The view: `#/graph/GRAPH/ID`, and with `?to=ID` the paths between two. */
export function Graph({ where, served, go }) {
  const [graph, id] = [where.parts[0] || "auto", where.parts[1] || ""];
  const names = served.graphs.map((g) => g.name);
  const language = currentLanguage();
  const complete = (text, signal) => api.complete(graph, text, { limit: 10, language }, signal).then((all) => all.map(({ entity, name, same }) => ({ ...entity, matched: name, ids: [entity.id, ...same].join(" · ") })));
  return html`<div class="graph-view">
    <h1>${t("graphTitle")}</h1>
    <form class="panel search" role="search" onSubmit=${(e) => e.preventDefault()}>
      <${Completing} label=${t("search")} hint=${t("searchThing")} load=${complete} choose=${(e) => go(link("graph", [graph, e.id]))} />
      <label>${t("whichGraph")}
        <select value=${graph} onChange=${(e) => go(link("graph", [e.target.value]))}>
          ${names.map((name) => html`<option value=${name}>${name === "auto" ? t("allGraphs") : name}</option>`)}
        </select>
      </label>
    </form>
    ${id && html`<${Thing} key=${`${graph} ${id} ${language}`} ...${{ graph, id, served, go, complete }} to=${where.given.to || ""} />`}
  </div>`;
}

/** An entity: its names, what is known of it by role, and paths. */
function Thing({ graph, id, served, go, complete, to }) {
  const language = currentLanguage();
  const { value, problem, again } = useLoaded(
    (signal) => Promise.all([api.entity(graph, id, { language }, signal), api.neighbours(graph, id, { limit: FIRST, language }, signal)]),
    [graph, id, language],
  );
  if (problem && problem.status === 409) return html`<${Choose} candidates=${problem.extra.candidates || []} graph=${graph} />`;
  if (problem && problem.status === 404) return html`<${NoSuch} graph=${graph} id=${id} problem=${problem} />`;
  if (problem) return html`<${Trouble} problem=${problem} again=${again} />`;
  if (!value) return html`<${Wait} />`;
  const [about, around] = value;
  const { entity } = around;
  const names = [...new Set(about.aliases.filter(([text, scope]) => scope !== "xref" && text !== entity.name).map(([text]) => text))];
  const codes = [...new Set(about.aliases.filter(([, scope]) => scope === "xref").map(([text]) => text))];
  return html`<article>
    <header class="panel thing">
      <h2>${entity.name} <small><${Reference} text=${entity.id} />${entity.kind && ` · ${entity.kind}`}</small></h2>
      ${about.entity.description && html`<p class="definition">${about.entity.description}</p>`}
      ${names.length > 0 && html`<p class="also"><strong>${t("also")}</strong> <${Line} items=${names} /></p>`}
      ${codes.length > 0 && html`<p class="also"><${Line} items=${codes} most=${10} /></p>`}
      <${PathForm} ...${{ graph, id, complete, go, to }} />
    </header>
    ${to ? html`<${Paths} ...${{ graph, id, to, served }} entity=${entity} />` : html`<${Known} ...${{ graph, id, served, around }} attributes=${about.attributes} />`}
  </article>`;
}

/** Words on one line, the first of them. */
function Line({ items, most = 8 }) {
  const [all, set] = useState(false);
  return html`${(all ? items : items.slice(0, most)).join(" · ")}
    ${items.length > most && html` <button type="button" class="quiet" aria-expanded=${all ? "true" : "false"} onClick=${() => set(!all)}>${all ? t("fewer") : t("more", number(items.length - most))}</button>`}`;
}

const Choose = ({ candidates, graph }) => html`<section class="panel"><h2>${t("whichOne")}</h2>
  <ul class="plain-list">${candidates.map((e) => html`<li><a href=${link("graph", [graph, e.id])}>${e.name}</a> <small>${e.id}${e.kind && ` · ${e.kind}`}</small></li>`)}</ul></section>`;

/** Nothing has that name: what is spelled like it. */
function NoSuch({ graph, id, problem }) {
  const { value } = useLoaded((signal) => api.similar(graph, id, {}, signal), [graph, id]);
  const near = (value || []).map((m) => m.entity || m);
  return html`<section class="panel" role="alert"><h2>${t("noMatch")}</h2><p>${problem.message}</p>
    ${near.length > 0 && html`<h3>${t("similar")}</h3><ul class="plain-list">${near.map((e) => html`<li><a href=${link("graph", [graph, e.id])}>${e.name}</a> <small>${e.id}</small></li>`)}</ul>`}</section>`;
}

/** All that is known, by role, as lists, a picture or a table. */
function Known({ graph, id, served, around, attributes }) {
  const [shape, choose] = useState("list");
  const language = currentLanguage();
  const roles = ROLE_ORDER.filter((role) => around.roles[role]).sort((a, b) => Number(SAFETY.includes(b)) - Number(SAFETY.includes(a)));
  const [more, add] = useState([]); // around things that were expanded
  const [trouble, setTrouble] = useState(null);
  const facts = useMemo(() => factsOf([{ triples: [...around.triples, ...attributes, ...more] }]), [around, more]);
  const expand = (entity) =>
    api.neighbours(graph, entity.id, { limit: PAGE, language }).then(({ triples }) => add((now) => [...now, ...triples]), setTrouble);
  if (!around.total && !attributes.length) return html`<p class="panel">${t("noNeighbours")}</p>`;
  return html`<section class="panel" aria-labelledby="known">
    <div class="panel-head"><h2 id="known">${t("neighbours")} <small>${number(around.total)}</small></h2>
      <${Tabs} label=${t("howShown")} tabs=${[["list", t("asList")], ["picture", t("asPicture")], ["explore", t("asGraph")], ["table", t("asTable")]]} chosen=${shape} choose=${choose} /></div>
    <div role="tabpanel" aria-label=${t("neighbours")}>
      ${shape === "explore" && html`<${Explore} graph=${graph} start=${around.entity} facts=${facts.slice(0, DRAWN)} />`}
      ${shape === "list" && roles.map((role) => html`<${RoleGroup} key=${role} ...${{ graph, role, served, language }} id=${around.entity.id} total=${around.roles[role]} start=${around.triples.filter((f) => f.relation.role === role)} />`)}
      ${shape === "list" && attributes.length > 0 && html`<${Attributes} attributes=${attributes} />`}
      ${shape === "picture" && html`<${Picture} facts=${facts} asked=${[around.entity]} totals=${around.roles} expand=${expand} graphs=${served.graphs} graph=${graph} />`}
      ${shape === "table" && html`<${FactsTable} facts=${facts} graphs=${served.graphs} numbers=${false} label=${t("neighbours")} />`}
      ${trouble && html`<${Trouble} problem=${trouble} />`}
      ${!["list", "explore"].includes(shape) && around.total > around.triples.length && html`<p class="hint">${number(around.triples.length)} / ${number(around.total)}</p>`}
    </div>
  </section>`;
}

/** What is said of it in words or numbers, under the graph's own name for it. */
const Attributes = ({ attributes }) => html`<dl class="plain attributes">
  ${attributes.map((triple) => html`<div><dt>${triple.relation.name}</dt><dd>${triple.tail.name} <small>${triple.source}</small></dd></div>`)}
</dl>`;

/** The neighbours of one role, more of them on demand. */
function RoleGroup({ graph, id, role, total, start, served, language }) {
  const [state, set] = useState({ triples: start, next: start.length < total ? 0 : null, open: start.length > 0, all: start.length === total && total <= FOLDED });
  const [trouble, setTrouble] = useState(null);
  const load = () =>
    api.neighbours(graph, id, { role, limit: PAGE, after: state.next || undefined, language }).then(
      (more) => set((now) => ({ triples: now.next === 0 ? more.triples : [...now.triples, ...more.triples], next: more.next, open: true, all: true })),
      setTrouble,
    );
  const unfold = () => (state.next === null ? set({ ...state, all: true }) : load());
  const shown = state.all ? state.triples : state.triples.slice(0, FOLDED);
  const sides = [false, true].map((back) => [shown.filter((f) => isBack(f, id) === back), back]).filter(([triples]) => triples.length); // seen from the one end, and from the other
  return html`<details class="role-group" open=${state.open} onToggle=${(e) => e.target.open && !state.triples.length && load()}>
    <summary><h3 class=${SAFETY.includes(role) ? "safety" : ""}>${sides.map(([, back]) => roleName(role, back)).join(" / ") || roleName(role)} <small>${number(total)}</small></h3></summary>
    ${sides.map(([triples, back]) => html`${sides.length > 1 && html`<h4>${roleName(role, back)}</h4>`}<${Facts} triples=${triples} id=${id} served=${served} graph=${graph} />`)}
    ${trouble && html`<${Trouble} problem=${trouble} again=${load} />`}
    ${total > shown.length && (!state.all || state.next !== null) && html`<button type="button" class="quiet" onClick=${unfold}>${t("moreFacts", number(total - shown.length))}</button>`}
  </details>`;
}

/** Whether the entity is the object of a fact. */
const isBack = (triple, id) => objectOf(triple).id === id && subjectOf(triple).id !== id;

/** Facts as chips: the other end once, how often, and behind a click what it rests on. */
function Facts({ triples, id, served, graph }) {
  const [open, set] = useState(-1);
  const otherOf = (triple) => (subjectOf(triple).id === id ? objectOf(triple) : subjectOf(triple));
  const once = new Map();
  for (const triple of triples) once.set(keyOf(otherOf(triple)), [...(once.get(keyOf(otherOf(triple))) || []), triple]);
  return html`<ul class="chips facts-list">
    ${[...once.values()].map((facts, i) => {
      const other = otherOf(facts[0]);
      const often = facts.map(frequencyOf).find(Boolean);
      return html`<li class=${`chip ${open === i ? "open" : ""}`}>
        ${other.id ? html`<a href=${link("graph", [graph, other.id])}>${other.name}</a>` : html`<span>${other.name}</span>`}
        ${often && html` <small>${often.split("; ")[0]}</small>`}
        <button type="button" class="info" aria-expanded=${open === i ? "true" : "false"} aria-label=${`${t("fact")}: ${other.name}`} onClick=${() => set(open === i ? -1 : i)}>i</button>
        ${open === i && facts.map((triple) => html`<${FactCard} triple=${triple} graphs=${served.graphs} />`)}
      </li>`;
    })}
  </ul>`;
}

// --- Paths between two.

function PathForm({ graph, id, complete, go, to }) {
  return html`<div class="path-form">
    <${Completing} label=${t("pathTo")} hint=${t("searchThing")} load=${complete} choose=${(e) => go(link("graph", [graph, id], { to: e.id }))} />
    ${to && html`<p><a href=${link("graph", [graph, id])}>← ${t("neighbours")}</a></p>`}
  </div>`;
}

function Paths({ graph, id, to, entity, served }) {
  const language = currentLanguage();
  const { value, problem, again } = useLoaded((signal) => api.paths(graph, { entities: [id, to], limit: 20 }, { language }, signal), [graph, id, to, language]);
  const triples = useMemo(() => (value ? value.paths.map((p) => p.triples || p) : []), [value]);
  const lines = useMemo(() => alike(triples, entity.id), [triples]);
  const facts = useMemo(() => {
    const once = new Map();
    lines.forEach(({ paths }, i) => paths.flat().forEach((triple) => {
      const key = JSON.stringify([triple.head.id, triple.relation.name, triple.tail.id, triple.tail.name]);
      const fact = once.get(key) || { triple, numbers: [] };
      if (!fact.numbers.includes(i + 1)) fact.numbers.push(i + 1);
      once.set(key, fact);
    }));
    return [...once.values()];
  }, [triples]);
  const [marked, mark] = useState(0);
  const [shape, choose] = useState("picture");
  useEffect(() => mark(0), [value]);
  if (problem && problem.status === 409) return html`<${Choose} candidates=${problem.extra.candidates || []} graph=${graph} />`;
  if (problem) return html`<${Trouble} problem=${problem} again=${again} />`;
  if (!value) return html`<${Wait} />`;
  return html`<section class="panel" aria-labelledby="paths">
    <div class="panel-head"><h2 id="paths">${t("paths")} <small>${value.paths.length ? t("pathCount", number(value.total)) : ""}</small></h2>
      ${facts.length > 0 && html`<${Tabs} label=${t("howShown")} tabs=${[["picture", t("asPicture")], ["table", t("asTable")]]} chosen=${shape} choose=${choose} />`}</div>
    ${!value.paths.length && html`<p>${t("noPaths", 5)}</p>`}
    <div role="tabpanel" aria-label=${t("paths")}>
      ${facts.length > 0 && shape === "picture" && html`<${Picture} facts=${facts} asked=${[entity]} goal=${to} graphs=${served.graphs} graph=${graph} marked=${marked} label=${t("paths")} />`}
      ${facts.length > 0 && shape === "table" && html`<${FactsTable} facts=${facts} graphs=${served.graphs} marked=${marked} label=${t("paths")} />`}
    </div>
    <ol class="path-list">
      ${lines.map(
        ({ steps }, i) => html`<li><button type="button" class=${`path ${i + 1 === marked ? "marked" : ""}`} aria-pressed=${i + 1 === marked ? "true" : "false"} onClick=${() => mark(i + 1 === marked ? 0 : i + 1)}>
          ${steps.map((step, j) => (j ? html` <span class=${`role ${SAFETY.includes(step.role) ? "safety" : ""}`}>${roleName(step.role, step.back)}</span> ${step.name}` : step.name))}
        </button></li>`,
      )}
    </ol>
  </section>`;
}

/** Paths that read alike on one line: several relations or sources that say the same. */
function alike(paths, id) {
  const lines = new Map();
  for (const path of paths) {
    const steps = along(path, id);
    const key = JSON.stringify(steps);
    lines.set(key, { steps, paths: [...(lines.get(key) || { paths: [] }).paths, path] });
  }
  return [...lines.values()];
}

/** The things along a path from its beginning, with the role that leads to each. */
function along(path, id) {
  let at = path[0].tail.id === id ? id : path[0].head.id;
  const steps = [{ name: path[0].head.id === at ? path[0].head.name : path[0].tail.name }];
  for (const triple of path) {
    const next = triple.head.id === at ? triple.tail : triple.head;
    steps.push({ name: next.name, role: triple.relation.role, back: subjectOf(triple).id !== at });
    at = next.id;
  }
  return steps;
}
