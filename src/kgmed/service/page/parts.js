// What the views share: the hash as a route, a text field that completes, facts with their sources, and small things.

import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { currentLanguage, number, roleName, SAFETY, t } from "./words.js";

// --- Routes. All that a link says stands behind the #, which no browser sends to a server.

/** What the address asks for: { view, parts, given }. */
export function route(hash = location.hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split("?");
  const [view, ...parts] = path.split("/").map(plain);
  return { view: view || "ask", parts, given: Object.fromEntries(new URLSearchParams(query)) };
}

function plain(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The address of a view. */
export function link(view, parts = [], given = {}) {
  const query = new URLSearchParams(Object.entries(given).filter(([, v]) => v)).toString();
  return `#/${[view, ...parts].map(encodeURIComponent).join("/")}${query ? `?${query}` : ""}`;
}

/** The whole address of a view, to be copied. */
export const permanent = (...where) => new URL(link(...where), location.href).href;

// --- Small things.

/** A value of the server that is loaded when `keys` change: { value, problem, again }. */
export function useLoaded(load, keys) {
  const [state, set] = useState({});
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    set({});
    load(stop.signal).then(
      (value) => stop.signal.aborted || set({ value }),
      (problem) => stop.signal.aborted || set({ problem }),
    );
    return () => stop.abort();
  }, [...keys, turn]);
  return { ...state, again: () => setTurn(turn + 1) };
}

/** A panel that says what went wrong, and how to go on. */
export function Trouble({ problem, again }) {
  return html`<div class="panel trouble" role="alert">
    <h2>${t("problem")}</h2>
    <p>${problem.message}</p>
    ${again && html`<button type="button" onClick=${again}>${t("retry")}</button>`}
  </div>`;
}

export const Wait = ({ text }) => html`<p class="wait" role="status"><span class="dots" aria-hidden="true"></span>${text || t("loading")}</p>`;

/** A button that copies a text and says so. */
export function Copy({ text, label }) {
  const [done, set] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(typeof text === "function" ? text() : text).catch(() => {});
    set(true);
    setTimeout(() => set(false), 1500);
  };
  return html`<button type="button" class="quiet" onClick=${copy}>${done ? t("copied") : label || t("copy")}</button>`;
}

/** Saves a text as a file. */
export function saveAs(name, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

/** Saves a value as a file of JSON. */
export const saveJson = (name, value) => saveAs(name, JSON.stringify(value, null, 1), "application/json");

/** What becomes of keys in a field for a question: Enter sends it, with Ctrl or Shift it breaks the line. */
export const sendingKeys = (send) => (event) => {
  if (event.key !== "Enter" || event.isComposing || event.shiftKey) return;
  event.preventDefault();
  if (!(event.ctrlKey || event.metaKey)) return send(event);
  const field = event.target;
  field.setRangeText("\n", field.selectionStart, field.selectionEnd, "end");
  field.dispatchEvent(new Event("input", { bubbles: true }));
};

/** How many characters there are of those that are read; nothing where there is much room. */
export function Room({ text, most }) {
  if (text.length < 0.8 * most) return null;
  const over = text.length > most;
  return html`<p class=${over ? "notice" : "hint"} role="status">${t(over ? "tooLong" : "room", `${number(text.length)} / ${number(most)}`)}</p>`;
}

/** The first few of a list, and a button for the others. */
export function Few({ items, most = 12, render, tag = "ul", class: name }) {
  const [all, set] = useState(false);
  const shown = all ? items : items.slice(0, most);
  const more = items.length - most;
  return html`<${tag} class=${name}>${shown.map(render)}<//>
    ${more > 0 &&
    html`<button type="button" class="quiet" aria-expanded=${all} onClick=${() => set(!all)}>
      ${all ? t("fewer") : t("more", number(more))}
    </button>`}`;
}

/** One of some tabs is shown; arrow keys move between them. */
export function Tabs({ label, tabs, chosen, choose }) {
  const move = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = tabs.findIndex(([key]) => key === chosen);
    const [key] = tabs[(at + step + tabs.length) % tabs.length];
    choose(key);
    event.currentTarget.querySelector(`[data-tab="${key}"]`).focus();
  };
  return html`<div class="tabs" role="tablist" aria-label=${label} onKeyDown=${move}>
    ${tabs.map(
      ([key, word]) => html`<button
        type="button"
        role="tab"
        data-tab=${key}
        aria-selected=${key === chosen ? "true" : "false"}
        tabindex=${key === chosen ? 0 : -1}
        onClick=${() => choose(key)}
      >
        ${word}
      </button>`,
    )}
  </div>`;
}

let numbered = 0;
/** An id that no other element has. */
export const useId = (name) => useRef(`${name}-${(numbered += 1)}`).current;

// --- A text field that completes (the combobox of the ARIA practices).

/** `load(text, signal)` gives the entities for a text; `choose(entity)` is told which was taken. */
export function Completing({ label, hint, load, choose, value = "", clear = true, onText }) {
  const id = useId("completing");
  const [text, setText] = useState(value);
  const [list, setList] = useState({ open: false, items: [], at: -1, asked: "" });
  const stop = useRef(new AbortController());
  const timer = useRef(0);
  useEffect(() => setText(value), [value]);
  useEffect(() => () => (stop.current.abort(), clearTimeout(timer.current)), []);

  const ask = (typed) => {
    setText(typed);
    onText && onText(typed);
    stop.current.abort();
    clearTimeout(timer.current);
    if (!typed.trim()) return setList({ open: false, items: [], at: -1, asked: "" });
    stop.current = new AbortController();
    const { signal } = stop.current;
    timer.current = setTimeout(
      () =>
        load(typed.trim(), signal).then(
          (items) => signal.aborted || setList({ open: true, items, at: items.length ? 0 : -1, asked: typed.trim() }),
          () => signal.aborted || setList({ open: false, items: [], at: -1, asked: "" }),
        ),
      90,
    );
  };
  const take = (item) => {
    setText(clear ? "" : item.name);
    setList({ open: false, items: [], at: -1, asked: "" });
    choose(item);
  };
  const keys = (event) => {
    if (event.isComposing) return; // a Chinese input method is still at work
    const last = list.items.length - 1;
    const to = { ArrowDown: list.at >= last ? 0 : list.at + 1, ArrowUp: list.at <= 0 ? last : list.at - 1 }[event.key];
    if (to !== undefined && list.open) {
      event.preventDefault();
      setList({ ...list, at: to });
    } else if (event.key === "Enter" && list.open && list.at >= 0 && list.asked === text.trim()) {
      event.preventDefault();
      take(list.items[list.at]);
    } else if (event.key === "Enter") {
      event.preventDefault();
    } else if (event.key === "Escape") {
      setList({ ...list, open: false });
    }
  };
  const shown = list.open && list.items.length > 0;
  return html`<div class="completing">
    <label for=${id}>${label}</label>
    <input
      id=${id}
      type="text"
      role="combobox"
      autocomplete="off"
      spellcheck=${false}
      placeholder=${hint}
      aria-autocomplete="list"
      aria-expanded=${shown ? "true" : "false"}
      aria-controls=${`${id}-list`}
      aria-activedescendant=${shown && list.at >= 0 ? `${id}-${list.at}` : undefined}
      value=${text}
      onInput=${(event) => ask(event.target.value)}
      onKeyDown=${keys}
      onBlur=${() => setTimeout(() => setList((now) => ({ ...now, open: false })), 150)}
    />
    <ul id=${`${id}-list`} role="listbox" aria-label=${label} hidden=${!shown}>
      ${list.items.map(
        (item, i) => html`<li
          id=${`${id}-${i}`}
          role="option"
          aria-selected=${i === list.at ? "true" : "false"}
          onMouseDown=${(event) => (event.preventDefault(), take(item))}
        >
          <span class="option-name">${item.name}</span>
          ${item.matched && item.matched !== item.name && html`<span class="option-alias">${item.matched}</span>`}
          <span class="option-id">${item.ids || item.id}</span>
        </li>`,
      )}
    </ul>
    <p class="unseen" role="status">${list.open ? `${list.items.length}` : ""}</p>
    ${list.open && !list.items.length && html`<p class="hint">${t("noMatch")}</p>`}
  </div>`;
}

/** What a method does, and whose it is. */
export const aboutMethod = ({ does, paper }) => (paper === "ours" ? does : `${does} · ${paper}`);

// --- Facts: what a triple says, and what it rests on.

export const subjectOf = (triple) => (triple.relation.reverse ? triple.tail : triple.head);
export const objectOf = (triple) => (triple.relation.reverse ? triple.head : triple.tail);

/** What names an entity apart from others; a text such as a dose is its own under each head. */
export const keyOf = (entity, other) => entity.id || `${other ? other.id : ""} "${entity.name}"`;

/** The references of a fact, each once. */
export const referencesOf = (triple) => [...new Set(triple.support.map((s) => s.reference).filter(Boolean))];

const saidOf = (triple, wanted) => {
  const all = triple.support.flatMap((s) => s.qualifiers.filter(([name]) => (name === "frequency") === wanted));
  return [...new Set(all.map(([name, value]) => (wanted ? value : `${name}: ${value}`)))];
};

/** How often it is so, in the words of the sources. */
export const frequencyOf = (triple) => saidOf(triple, true).join("; ") || (triple.weight < 1 ? percent(triple.weight) : "");
/** What else the sources say of it. */
export const qualifiersOf = (triple) => saidOf(triple, false);

const percent = (share) => `${Math.round(share * 100)} %`;

let addresses = {}; // prefix of a reference -> address with {} for the rest, as the server has them

export const setAddresses = (of) => (addresses = of);

/** The address of a reference; "" = its database has no pages. */
export function addressOf(text) {
  if (/^https?:\/\//.test(text)) return text;
  const [, prefix, rest] = /^([A-Za-z]+):(.+)$/.exec(text) || [];
  return prefix && Object.hasOwn(addresses, prefix) ? addresses[prefix].replace("{}", encodeURIComponent(rest)) : "";
}

/** A reference, a link where its database has pages; nothing is fetched until it is clicked. */
export function Reference({ text }) {
  const address = addressOf(text);
  return address ? html`<a href=${address} target="_blank" rel="noopener noreferrer">${text}</a>` : text;
}

const separated = (items) => items.flatMap((item, i) => (i ? [", ", item] : [item]));

/** References on one line, the first few. */
export function References({ of, most = 4 }) {
  const [all, set] = useState(false);
  const shown = all ? of : of.slice(0, most);
  return html`${separated(shown.map((text) => html`<${Reference} text=${text} />`))}
    ${of.length > most &&
    html` <button type="button" class="quiet" aria-expanded=${all ? "true" : "false"} onClick=${() => set(!all)}>
      ${all ? t("fewer") : t("more", of.length - most)}
    </button>`}`;
}

/** The licence of a fact's graph, by the name that its source begins with; kgmed's own vocabulary has that of kgmed. */
export const licenceOf = (source, graphs) => source === "vocabulary" ? "Apache-2.0" : (graphs.find((g) => source.split(" ")[0] === g.name) || {}).licence || t("licenceUnknown");

const HAN = /\p{Script=Han}/u;

/** The graph's own name of a relation, where whoever reads the page can read it. */
const own = ({ name }) => (currentLanguage() === "zh" || !HAN.test(name) ? name : "");

/** The same facts as a table, those of the number `marked` in colour; `facts` = [{ triple, numbers }]. */
export function FactsTable({ facts, graphs, marked = 0, numbers = true, label }) {
  const empty = { howOften: !facts.some(({ triple }) => frequencyOf(triple)), references: !facts.some(({ triple }) => referencesOf(triple).length) };
  const cell = (key, content) => !empty[key] && html`<td role="cell" data-label=${t(key)}>${content}</td>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${`${label}: ${t("asTable")}`}>
    <table role="table" class="facts">
      <thead role="rowgroup">
        <tr role="row">
          ${numbers && html`<th role="columnheader" scope="col">${t("number")}</th>`}
          ${["from", "relation", "to", "howOften", "source", "licence", "references"].filter((key) => !empty[key]).map(
            (key) => html`<th role="columnheader" scope="col">${t(key)}</th>`,
          )}
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${facts.map(
          ({ triple, numbers: cited }) => html`<tr role="row" class=${cited.includes(marked) ? "marked" : ""}>
            ${numbers && cell("number", cited.join(", "))}
            ${cell("from", subjectOf(triple).name)}
            ${cell("relation", html`<span class=${SAFETY.includes(triple.relation.role) ? "safety" : ""}>${roleName(triple.relation.role)}</span> ${own(triple.relation) && html`<small>${own(triple.relation)}</small>`}`)}
            ${cell("to", objectOf(triple).name)} ${cell("howOften", frequencyOf(triple))}
            ${cell("source", triple.source)} ${cell("licence", licenceOf(triple.source, graphs))}
            ${cell("references", html`<${References} of=${referencesOf(triple)} />`)}
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** One fact in full: what it says and what it rests on. */
export function FactCard({ triple, graphs }) {
  const often = frequencyOf(triple);
  const originals = [subjectOf(triple), objectOf(triple)].map((e) => e.description).filter((text) => text && HAN.test(text)); // of names that were translated
  const more = qualifiersOf(triple);
  const line = (key, content) => html`<div><dt>${t(key)}</dt><dd>${content}</dd></div>`;
  return html`<div class="fact">
    <p class="fact-line">
      ${subjectOf(triple).name} <span class=${SAFETY.includes(triple.relation.role) ? "role safety" : "role"}>${roleName(triple.relation.role)}</span>
      ${objectOf(triple).name}
    </p>
    <dl class="plain">
      ${originals.length > 0 && line("original", html`<span lang="zh">${originals.join(" · ")}</span>`)}
      ${often && line("howOften", often)} ${line("source", `${triple.source} (${triple.relation.name})`)}
      ${line("licence", licenceOf(triple.source, graphs))}
      ${referencesOf(triple).length > 0 && line("references", html`<${References} of=${referencesOf(triple)} most=${8} />`)}
      ${more.length > 0 && line("said", more.join("; "))}
    </dl>
  </div>`;
}

// --- Copies of an answer in other forms.

const evidenceOf = (run) => (run.context.cited.length ? run.context.cited : run.evidence);

/** The answer as plain text: the question, the answer, what its marks stand for, the releases. */
export function asText(run) {
  const cited = evidenceOf(run).map((e, i) => [i + 1, e]).filter(([n]) => run.answer.citations.includes(n));
  const sources = cited.map(([n, e]) => `[${n}] ${e.text} (${[...new Set(e.triples.flatMap((f) => [f.source, ...referencesOf(f)]))].join("; ")})`);
  return [run.query.question.text, "", run.answer.text, "", ...sources, "", run.graph, permanent("run", [run.id]), run.answer.limits || t("notAdvice")].join("\n");
}

/** The same as Markdown; `level` = of its heading. */
export function asMarkdown(run, level = 1) {
  const plain = (text) => text.replace(/([\\`*_<>#|])/g, "\\$1");
  const cited = evidenceOf(run).map((e, i) => [i + 1, e]).filter(([n]) => run.answer.citations.includes(n));
  const sources = cited.map(([n, e]) => `${n}. ${plain(e.text)} (${plain([...new Set(e.triples.flatMap((f) => [f.source, ...referencesOf(f)]))].join("; "))})`);
  return [`${"#".repeat(level)} ${plain(run.query.question.text)}`, plain(run.answer.text).replaceAll("\n", "  \n"), sources.join("\n"), `*${plain(run.answer.limits || t("notAdvice"))}* ${plain(run.graph)}, <${permanent("run", [run.id])}>`].join("\n\n");
}

/** The facts as CSV (RFC 4180); a cell that a spreadsheet would run as a formula begins with an apostrophe. */
export function asCsv(facts, graphs) {
  const cell = (value) => {
    const text = String(value).replace(/^[=+\-@\t\r]/, "'$&");
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const head = ["number", "from", "from_id", "relation", "role", "to", "to_id", "frequency", "source", "licence", "references"];
  const rows = facts.map(({ triple, numbers }) => {
    const [from, to] = [subjectOf(triple), objectOf(triple)];
    return [numbers.join(" "), from.name, from.id, triple.relation.name, triple.relation.role, to.name, to.id, frequencyOf(triple), triple.source, licenceOf(triple.source, graphs), referencesOf(triple).join(" ")];
  });
  return `${[head, ...rows].map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;
}

/** What an answer is cited by: itself, the graphs that it rests on, and their references: [{ key, title, note, url }]. */
function works(run, graphs) {
  const facts = factsOf(evidenceOf(run).filter((_, i) => run.answer.citations.includes(i + 1)));
  const sources = [...new Set(facts.map(({ triple }) => triple.source))];
  const references = [...new Set(facts.flatMap(({ triple }) => referencesOf(triple)))];
  const made = sources.map((source) => ({ key: source, title: source, note: (graphs.find((g) => g.name === source.split(" ")[0]) || {}).citation || "", url: "" }));
  const read = references.map((text) => ({ key: text, title: text, note: "", url: addressOf(text) }));
  return [{ key: `kgmed-${run.id.slice(-12)}`, title: run.query.question.text, note: `kgmed, ${run.method}, ${run.graph}`, url: permanent("run", [run.id]) }, ...made, ...read];
}

/** The citations in BibTeX. */
export const asBibtex = (run, graphs) =>
  works(run, graphs).map(({ key, title, note, url }) => {
    const plain = (text) => text.replace(/[{}\\]/g, "").replace(/[%#&_$]/g, "\\$&");
    const fields = [`title = {{${plain(title)}}}`, note && `note = {${plain(note)}}`, url && `url = {${url.replace(/[{}\\]/g, "")}}`].filter(Boolean);
    return `@misc{${key.replace(/[^\w-]+/g, "-")},\n  ${fields.join(",\n  ")}\n}\n`;
  }).join("\n");

/** The citations in RIS. */
export const asRis = (run, graphs) =>
  works(run, graphs).map(({ key, title, note, url }) => [["TY", "DATA"], ["ID", key], ["TI", title], ["N1", note], ["UR", url], ["ER", ""]].filter(([name, value]) => value || name === "ER").map(([name, value]) => `${name}  - ${value.replace(/\s+/g, " ")}`).join("\r\n")).join("\r\n\r\n") + "\r\n";

/** The facts of some evidence, each once, with the numbers that it is cited by. */
export function factsOf(evidence) {
  const found = new Map();
  evidence.forEach(({ triples }, i) => {
    for (const triple of triples) {
      const key = [keyOf(triple.head), triple.relation.name, keyOf(triple.tail, triple.head), triple.source].join("\n");
      const fact = found.get(key) || { triple, numbers: [] };
      if (!fact.numbers.includes(i + 1)) fact.numbers.push(i + 1);
      found.set(key, fact);
    }
  });
  return [...found.values()];
}
