// What was asked from this browser: conversations with their turns. They stay in the browser; where a key is needed they
// are forgotten with the tab, as the key is. Nothing of them is sent: a turn is opened by the id of its run.

import * as api from "./api.js";
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { asMarkdown, link, saveAs, saveJson, Trouble, useId, useLoaded } from "./parts.js";
import { t } from "./words.js";

const KEY = "kgmed-asked";
const MOST = 200; // conversations; the oldest go first
let memory = []; // where the browser keeps nothing
let keyed = false;
const listeners = new Set();

const shelf = () => (keyed ? sessionStorage : localStorage);

/** Conversations, the newest first: { id, title, at, turns: [{ id, question }] }; the id is that of the first run. */
export function conversations() {
  try {
    const found = JSON.parse(shelf().getItem(KEY) || "[]");
    return Array.isArray(found) ? found.filter((c) => c && Array.isArray(c.turns) && c.turns.length) : [];
  } catch {
    return memory;
  }
}

function keep(all) {
  memory = all.slice(0, MOST);
  try {
    shelf().setItem(KEY, JSON.stringify(memory));
  } catch {
    // kept in memory for this visit
  }
  for (const tell of listeners) tell();
}

/** Says whether the service needs a key. */
export const keptForTab = (is) => (keyed = is);

/** The conversation that a run is a turn of; undefined = none of this browser. */
export const conversationOf = (run) => conversations().find((c) => c.turns.some((turn) => turn.id === run));

/** Keeps a run as a turn: of the conversation that `after`, the runs before it, belongs to, else of a new one. */
export function remember(run, after) {
  const question = run.query.question.text;
  const all = conversations().filter((c) => c.id !== run.id);
  const before = after.length && all.find((c) => c.turns.some((turn) => turn.id === after[after.length - 1]));
  const turn = { id: run.id, question };
  const now = before ? { ...before, at: Date.now(), turns: [...before.turns, turn] } : { id: run.id, title: question, at: Date.now(), turns: [turn] };
  keep([now, ...all.filter((c) => c !== before)]);
}

const renamed = (id, title) => keep(conversations().map((c) => (c.id === id ? { ...c, title: title.trim() || c.turns[0].question } : c)));
const forgotten = (id) => keep(conversations().filter((c) => c.id !== id));

/** Saves a conversation with its answers as Markdown; what the service has no more is left out. */
async function save({ title, turns }) {
  const runs = await Promise.all(turns.map(({ id }) => api.run(id).catch(() => null)));
  saveAs("kgmed-conversation.md", [`# ${title}`, ...runs.filter(Boolean).map((run) => asMarkdown(run, 2))].join("\n\n"), "text/markdown");
}

/** The list, with a search; `here` = the id of the run that is shown. */
export function History({ here, lists }) {
  const [all, set] = useState(conversations);
  const [sought, seek] = useState("");
  const id = useId("history");
  useEffect(() => {
    const tell = () => set(conversations());
    listeners.add(tell);
    return () => listeners.delete(tell);
  }, []);
  if (!all.length && !lists) return null;
  const words = sought.toLowerCase().split(/\s+/).filter(Boolean);
  const found = all.filter((c) => words.every((word) => `${c.title} ${c.turns.map((turn) => turn.question).join(" ")}`.toLowerCase().includes(word)));
  return html`<aside class="history" aria-label=${t("history")}>
    ${all.length > 0 && html`<section aria-labelledby=${id}><h2 id=${id}>${t("history")}</h2>
    <input type="text" aria-label=${t("historySearch")} placeholder=${t("historySearch")} value=${sought} onInput=${(e) => seek(e.target.value)} />
    <ul>${found.slice(0, 40).map((c) => html`<${Item} key=${c.id} conversation=${c} here=${here} />`)}</ul>
    ${!found.length && html`<p class="hint">${t("historyNone")}</p>`}
    <div class="actions">
      <button type="button" class="quiet" onClick=${() => saveJson("kgmed-history.json", all)}>${t("historySave")}</button>
      <button type="button" class="quiet" onClick=${() => keep([])}>${t("historyClear")}</button>
    </div>
    <p class="hint">${t(keyed ? "historyInTab" : "historyHere")}</p></section>`}
    ${lists && html`<${OfService} here=${here} />`}
  </aside>`;
}

/** What was asked of the service, from whatever browser, program or terminal; read when it is opened. */
function OfService({ here }) {
  const [open, set] = useState(false);
  const [sought, seek] = useState("");
  const { value = [], problem, again } = useLoaded((signal) => (open ? api.runs(sought, signal) : Promise.resolve([])), [open, sought, here]);
  const [trouble, setTrouble] = useState(null);
  const save = (run) => api.run(run.id).then((whole) => saveAs(`kgmed-${run.id}.md`, asMarkdown(whole), "text/markdown"), setTrouble);
  const act = (word, run, onClick) => html`<button type="button" class="quiet" aria-label=${`${t(word)}: ${run.question}`} onClick=${onClick}>${t(word)}</button>`;
  return html`<details class="of-service" onToggle=${(e) => set(e.target.open)}><summary>${t("serviceHistory")}</summary>
    <input type="text" aria-label=${t("serviceSearch")} placeholder=${t("serviceSearch")} value=${sought} onInput=${(e) => seek(e.target.value)} />
    <ul>${value.map((run) => html`<li key=${run.id} class=${run.id === here ? "open" : ""}>
      <a href=${link("run", [run.id])} aria-current=${run.id === here ? "true" : undefined}>${run.question}</a> <small>${askedAt(run.id)}</small>
      <span class="acts">${act("saveReport", run, () => save(run))}${act("forget", run, () => api.forget(run.id).then(again, setTrouble))}</span></li>`)}</ul>
    ${open && !value.length && !problem && html`<p class="hint">${t("historyNone")}</p>`}
    ${(problem || trouble) && html`<${Trouble} problem=${problem || trouble} />`}
    <div class="actions">${value.length > 0 && html`<button type="button" class="quiet" aria-label=${t("serviceSave")} onClick=${() => saveJson("kgmed-service.json", value)}>${t("historySave")}</button>`}</div>
    <p class="hint">${t("serviceHere")}</p>
  </details>`;
}

/** When a run was asked: its id begins with the milliseconds. */
const askedAt = (id) => new Date(parseInt(id.replace("-", "").slice(0, 12), 16)).toLocaleString(document.documentElement.lang, { dateStyle: "short", timeStyle: "short" });

/** A field for another title; Escape leaves the old one. */
function Naming({ title, done }) {
  const [text, set] = useState(title);
  const field = useRef(null);
  useEffect(() => field.current.select(), []);
  return html`<form onSubmit=${(e) => (e.preventDefault(), done(text))}>
    <input type="text" aria-label=${t("rename")} ref=${field} value=${text} onInput=${(e) => set(e.target.value)} onKeyDown=${(e) => e.key === "Escape" && done(null)} />
  </form>`;
}

/** One conversation: opened by its last turn, renamed, saved or deleted. */
function Item({ conversation: c, here }) {
  const [naming, name] = useState(false);
  const open = c.turns.some((turn) => turn.id === here);
  const act = (word, onClick) => html`<button type="button" class="quiet" aria-label=${`${t(word)}: ${c.title}`} onClick=${onClick}>${t(word)}</button>`;
  if (naming) return html`<li><${Naming} title=${c.title} done=${(title) => (title !== null && renamed(c.id, title), name(false))} /></li>`;
  return html`<li class=${open ? "open" : ""}>
    <a href=${link("run", [c.turns[c.turns.length - 1].id])} aria-current=${open ? "true" : undefined}>${c.title}</a>
    ${c.turns.length > 1 && html` <small>${t("turns", c.turns.length)}</small>`}
    <span class="acts">${act("rename", () => name(true))}${act("saveReport", () => save(c))}${act("forget", () => forgotten(c.id))}</span>
  </li>`;
}
