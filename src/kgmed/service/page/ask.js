// Ask: a question, what happens while it is answered, the answer with its citations, and the evidence behind it.

import * as api from "./api.js";
import { html, useEffect, useMemo, useRef, useState } from "./vendor/htm-preact.js";
import { conversationOf, History, remember } from "./history.js";
import { aboutMethod, asBibtex, asCsv, asMarkdown, asRis, asText, Completing, Copy, factsOf, FactsTable, frequencyOf, licenceOf, link, objectOf, permanent, References, referencesOf, Room, saveAs, saveJson, sendingKeys, subjectOf, Tabs, Trouble, useId, useLoaded, Wait } from "./parts.js";
import { Picture } from "./picture.js";
import { currentLanguage, intentName, INTENT_ORDER, number, roleName, SAFETY, stageName, t } from "./words.js";

const EXAMPLES = {
  en: ["What are the symptoms of Marfan syndrome?", "What treats asthma?", "Can a pregnant woman take ibuprofen?", "Which gene causes cystic fibrosis?"],
  zh: ["糖尿病有哪些症状？", "哮喘用什么药治疗？", "孕妇能吃布洛芬吗？", "痛风不能吃什么？"],
};

const kept = new Map(); // the answers of this visit by id: { run, near }
let draft = ""; // what was typed and not asked when the view was left
let going = null; // the question that is being answered, whether its view is shown or not: { abort, now, tell, arrive }

/** The view: the question, and below it what came of it. `where` is the route, `served` what the server has. */
export function Ask({ where, served, arrive }) {
  const asked = where.view === "run" ? where.parts[0] : "";
  const [state, set] = useState(going && !asked ? going.now : { step: "idle" });
  const [text, setText] = useState(where.given.q || (going ? going.question : draft));
  const [choice, setChoice] = useState({ graph: where.given.graph || "", method: where.given.method || "", model: where.given.model || "" });
  const field = useRef(null);
  const first = useRef(true);
  const written = useRef(text);
  written.current = text;

  useEffect(() => {
    if (asked) {
      open(asked);
    } else if (!(first.current && (going || draft))) {
      setText(where.given.q || "");
      if (!going) set({ step: "idle" });
    }
    first.current = false;
  }, [asked, where.given.q]);
  useEffect(() => {
    if (!asked && matchMedia("(pointer: fine)").matches) field.current.focus({ preventScroll: true });
    if (going) Object.assign(going, { tell: set, arrive }); // what was asked before the view was left goes on
    return () => {
      draft = asked || going ? "" : written.current;
      if (going) Object.assign(going, { tell: () => {}, arrive: null });
    };
  }, [asked]);

  const show = (one) => {
    kept.set(one.run.id, one);
    setText(one.run.query.question.text);
    set({ step: "done", ...one });
  };
  const open = (id) => {
    if (going) going.abort.abort();
    going = null;
    if (kept.has(id)) return show(kept.get(id));
    set({ step: "opening" });
    api.run(id).then((run) => show({ run }), (problem) => set({ step: "trouble", problem }));
  };
  const ask = async (question = text, { after = [], reading = undefined, run: from = undefined } = {}) => {
    if (!question.trim() || question.length > served.about.longest || (going && going.question === question && !reading)) return;
    if (going) going.abort.abort();
    const mine = (going = { question, abort: new AbortController(), tell: set, arrive, now: { step: "working", stages: [], found: null, text: "" } });
    let { now } = mine;
    const told = (change) => {
      mine.now = now = { ...now, ...change };
      if (going === mine) mine.tell(now);
    };
    setText(question);
    set(now);
    const on = (kind, data) => {
      if (kind === "stage") told({ stages: [...now.stages, data.stage || data] });
      else if (kind === "found") told({ found: data });
      else if (kind === "token") told({ text: now.text + data.text });
      else if (kind === "restart") told({ text: "" });
      else if (kind === "error") throw new api.Problem(data.status || 0, data.title, data.detail);
      else if (kind === "run") {
        if (going !== mine) return;
        const near = now.found ? now.found.near : undefined;
        now = { ...now, step: "done" };
        going = null;
        kept.set(data.id, { run: data, near });
        remember(data, after);
        if (mine.arrive) mine.arrive(link("run", [data.id]));
        else onArrived(link("run", [data.id]));
      }
    };
    try {
      const { signal } = mine.abort;
      if (served.about.opening) await api.untilOpen(signal);
      const same = from && { graph: choice.graph, method: from.method, model: choice.model }; // a correction is read by the same method
      const body = { question: question.trim(), stream: true, translated: true, ...filled(same || choice), ...(after.length ? { after } : {}), ...(reading ? { reading } : {}) };
      await api.stream("v1/ask", body, on, signal);
      if (now.step === "working") throw new api.Problem(0, t("offline"), t("offline"));
    } catch (problem) {
      if (going !== mine) return;
      going = null;
      mine.tell(problem.name === "AbortError" ? { step: "stopped" } : { step: "trouble", problem });
    }
  };
  const halt = () => {
    if (going) going.abort.abort();
    field.current.focus();
  };
  /** Asks again with another reading: `change` = { intents } or { mention, id }. */
  const reread = (run, { intents, mention, id }) => {
    const { frame } = run.query;
    const chosen = run.links.filter((l) => l.how === "chosen" && l.mention.start >= 0 && !(mention && l.mention.start === mention.start));
    const entities = [...chosen.map((l) => ({ start: l.mention.start, end: l.mention.end, id: l.entity.id })), ...(mention ? [{ start: mention.start, end: mention.end, id }] : [])];
    const before = frame.source === "given" ? frame.asks.map((a) => a.intent) : [];
    ask(run.query.question.text, { after: turnsBefore(run.id), reading: { intents: intents || before, entities }, run });
  };
  const instead = (surface, name) => {
    const next = text.includes(surface) ? text.replace(surface, name) : `${text} ${name}`;
    setText(next);
    ask(next);
  };
  const { step, run } = state;
  return html`<div class="ask">
    <div class="asking">
    <${AskForm} ...${{ text, setText, choice, setChoice, served, ask, step, field }} filled=${where.given.q && text === where.given.q && step === "idle"} />
    <div class="outcome">
      ${step === "idle" && !text && html`<${Examples} take=${ask} />`}
      ${step === "opening" && html`<${Wait} />`}
      ${step === "working" && html`<${Working} ...${state} question=${text} instead=${instead} stop=${halt} />`}
      ${step === "stopped" && html`<p class="panel" role="status">${t("stopped")}</p>`}
      ${step === "trouble" && html`<${Trouble} problem=${state.problem} again=${text ? () => ask() : null} />`}
      ${step === "done" && html`<${Earlier} id=${run.id} />
        <${Outcome} run=${run} near=${state.near} served=${served} instead=${instead} reread=${reread} follow=${(question) => ask(question, { after: [...turnsBefore(run.id), run.id].slice(-8) })} cite=${Number(where.parts[1]) || 0} />`}
    </div></div>
    <${History} here=${step === "done" ? run.id : ""} lists=${served.about.lists} />
  </div>`;
}

let onArrived = (at) => void at;
/** Says who is told of an answer that came when the view had been left. */
export const whenArrived = (tell) => (onArrived = tell);

/** The ids of the turns before a run in its conversation. */
function turnsBefore(id) {
  const { turns = [] } = conversationOf(id) || {};
  return turns.slice(0, Math.max(0, turns.findIndex((turn) => turn.id === id))).map((turn) => turn.id).slice(-8);
}

/** The turns of the conversation before this one, each with its answer; and links to those after it. */
function Earlier({ id }) {
  const { turns = [] } = conversationOf(id) || {};
  const at = turns.findIndex((turn) => turn.id === id);
  const before = turns.slice(Math.max(0, at - 8), Math.max(0, at));
  const { value = [] } = useLoaded((signal) => Promise.all(before.map((turn) => (kept.has(turn.id) ? kept.get(turn.id).run : api.run(turn.id, signal).catch(() => null)))), [id]);
  if (turns.length < 2 || at < 0) return null;
  return html`<nav class="conversation" aria-label=${t("conversation")}><ol>
    ${before.map((turn, i) => html`<li><a href=${link("run", [turn.id])}>${turn.question}</a> ${value[i] && html`<p>${value[i].answer.text.split("\n")[0]}</p>`}</li>`)}
    <li aria-current="true"><strong>${turns[at].question}</strong></li>
    ${turns.slice(at + 1).map((turn) => html`<li><a href=${link("run", [turn.id])}>${turn.question}</a></li>`)}
  </ol></nav>`;
}

/** The next question of the conversation. */
function FollowUp({ send, most }) {
  const [text, set] = useState("");
  const id = useId("follow");
  const go = (event) => (event.preventDefault(), text.trim() && send(text));
  return html`<form class="follow" onSubmit=${go}>
    <label for=${id}>${t("follow")}</label>
    <div class="question-row">
      <textarea id=${id} rows="1" placeholder=${t("followHint")} value=${text} onInput=${(e) => set(e.target.value)} onKeyDown=${sendingKeys(go)}></textarea>
      <button type="submit" disabled=${!text.trim() || text.length > most}>${t("followButton")}</button>
    </div>
    <${Room} text=${text} most=${most} />
  </form>`;
}

const filled = (choice) => Object.fromEntries(Object.entries(choice).filter(([, v]) => v));

/** The question with its button, and the rarely needed choices folded away. */
function AskForm({ text, setText, choice, setChoice, served, ask, step, field, filled: came }) {
  const id = useId("question");
  const methods = (served.methods || []).filter((m) => m.available);
  const models = served.about.models;
  const chosen = methods.find((m) => m.name === choice.method);
  const most = served.about.longest;
  const submit = (event) => (event.preventDefault(), ask());
  return html`<form class="question" onSubmit=${submit}>
    <h1>${t("askTitle")}</h1>
    <p class="lead">${t("askLead")}</p>
    <label class="unseen" for=${id}>${t("question")}</label>
    <div class="question-row">
      <textarea id=${id} ref=${field} rows="2" value=${text} onInput=${(e) => setText(e.target.value)} onKeyDown=${sendingKeys(submit)}></textarea>
      <button type="submit" class="main" disabled=${!text.trim() || text.length > most} aria-disabled=${step === "working" ? "true" : undefined}>${t("askButton")}</button>
    </div>
    <${Room} text=${text} most=${most} />
    ${came && html`<p class="hint" role="status">${t("filledIn")}</p>`}
    <details class="choices">
      <summary>${t("options")}</summary>
      <div class="fields">
        <label>${t("whichGraph")}
          <select value=${choice.graph} onChange=${(e) => setChoice({ ...choice, graph: e.target.value })}>
            <option value="">${t("allGraphs")}</option>
            ${served.graphs.filter((g) => g.name !== "auto").map((g) => html`<option value=${g.name}>${g.label || g.name}</option>`)}
          </select>
        </label>
        <label>${t("method")}
          <select value=${choice.method} onChange=${(e) => setChoice({ ...choice, method: e.target.value })}>
            <option value="">${t("methodAuto")}</option>
            ${methods.map((m) => html`<option value=${m.name}>${m.name}</option>`)}
          </select>
        </label>
        ${models.length > 0 && html`<label>${t("model")}
          <select value=${choice.model} disabled=${models.length < 2} onChange=${(e) => setChoice({ ...choice, model: e.target.value })}>
            ${models.map((name, i) => html`<option value=${i ? name : ""}>${name}</option>`)}
          </select>
        </label>`}
      </div>
      <p class="hint">${chosen ? aboutMethod(chosen) : models.length ? "" : t("noModel")}</p>
    </details>
  </form>`;
}

const Examples = ({ take }) => html`<section class="examples" aria-labelledby="examples">
  <h2 id="examples">${t("examples")}</h2>
  <ul>
    ${EXAMPLES[currentLanguage()].map((q) => html`<li><button type="button" class="example" onClick=${() => take(q)}>${q}</button></li>`)}
  </ul>
</section>`;

/** What has happened so far: stages, what was found, and the words of a model. */
function Working({ stages, found, text, question, instead, stop }) {
  const done = stages.map((stage) => stage.name);
  const all = ["recognize", "link", "understand", "retrieve", "rank", "read"];
  const now = all.find((name) => !done.includes(name)) || "check";
  return html`<section class="panel" aria-busy="true">
    <div class="panel-head"><${Wait} text=${`${stageName(now)}…`} /><button type="button" class="stop" onClick=${stop}>${t("stop")}</button></div>
    <ol class="stages" aria-hidden="true">${all.map((name) => html`<li class=${done.includes(name) ? "done" : name === now ? "now" : ""}>${stageName(name)}</li>`)}</ol>
    ${found && html`<${Found} links=${found.links} missed=${found.missed} near=${found.near} text=${question} instead=${instead} />`}
    ${text && html`<div class="answer-text">${text}</div>`}
  </section>`;
}

/** What the question names: found, and not found with names that are spelled alike. */
export function Found({ links, missed, near = {}, text = "", instead, choose = null }) {
  const [changing, change] = useState(-1);
  const [alike, set] = useState({});
  useEffect(() => {
    const stop = new AbortController();
    for (const m of missed.slice(0, 4)) {
      if (near[m.name]) set((now) => ({ ...now, [m.name]: { words: m.surface, names: near[m.name] } }));
      else spelledAlike(m, text, stop.signal).then((found) => found && set((now) => ({ ...now, [m.name]: found })), () => {});
    }
    return () => stop.abort();
  }, [missed]);
  const said = (m) => [m.negated && t("denied"), { past: t("past"), uncertain: t("uncertain"), "other person": t("otherPerson") }[m.status]].filter(Boolean);
  const once = links.filter((l, i) => links.findIndex((o) => o.entity.id === l.entity.id && o.mention.negated === l.mention.negated) === i);
  return html`<div class="found">
    ${once.length > 0 &&
    html`<div class="found-row"><h3>${t("found")}</h3>
      <ul class="chips">
        ${once.map(
          ({ mention, entity, ties, how }, i) => html`<li class=${`chip ${changing === i ? "open" : ""}`}>
            ${mention.surface.toLowerCase() !== entity.name.toLowerCase() && html`<q>${mention.surface}</q> = `}
            <a href=${link("graph", ["auto", entity.id])}>${entity.name}</a> <small>${entity.id.endsWith(`:${entity.name}`) ? entity.kind : entity.id}</small>
            ${said(mention).map((word) => html` <em>${word}</em>`)}
            ${how === "chosen" && html` <small>${t("chosenByYou")}</small>`}
            ${ties.length > 0 && html` <small>${t("alsoPossible")} ${ties.slice(0, 3).map((e) => e.id).join(", ")}</small>`}
            ${choose && mention.start >= 0 && html` <button type="button" class="quiet" aria-expanded=${changing === i ? "true" : "false"} aria-label=${`${t("change")}: ${mention.surface}`} onClick=${() => change(changing === i ? -1 : i)}>${t("change")}</button>`}
            ${changing === i && html`<${Another} mention=${mention} ties=${ties} choose=${(id) => (change(-1), choose({ mention, id }))} />`}
          </li>`,
        )}
      </ul></div>`}
    ${missed.length > 0 &&
    html`<div class="found-row"><h3>${t("notFound")}</h3>
      <ul class="chips">
        ${missed.map(
          (m) => html`<li class="chip missed"><q>${m.surface}</q>
            ${alike[m.name] &&
            html`<span class="did">${t("didYouMean")}</span>
              ${alike[m.name].names.slice(0, 3).map((name) => html` <button type="button" class="suggest" onClick=${() => instead(alike[m.name].words, name)}>${name}</button>`)}`}
          </li>`,
        )}
      </ul></div>`}
  </div>`;
}

/** What else the words may stand for: those that matched as well, then whatever is searched for. */
function Another({ mention, ties, choose }) {
  const language = currentLanguage();
  const load = (text, signal) => api.complete("auto", text, { limit: 8, language }, signal).then((all) => all.map(({ entity, name }) => ({ ...entity, matched: name })));
  return html`<div class="another">
    ${ties.slice(0, 6).map((e) => html`<button type="button" class="suggest" onClick=${() => choose(e.id)}>${e.name} <small>${e.id}</small></button>`)}
    <${Completing} label=${t("another", mention.surface)} hint=${t("searchThing")} load=${load} choose=${(e) => choose(e.id)} />
  </div>`;
}

/** How the question was read: its words marked, what it asks, and of whom; what it asks can be changed. */
function Read({ run, reread }) {
  const { frame, question } = run.query;
  if (!frame.asks.length) return null;
  const things = frame.asks.flatMap((a) => [...a.subject, ...a.object]).concat(frame.findings);
  const spans = [...new Map(things.flatMap((thing) => thing.spans.map((span) => [span.join(), span]))).values()].sort((a, b) => a[0] - b[0]);
  const words = [];
  let at = 0;
  for (const [start, end] of spans) {
    if (start < at) continue;
    words.push(question.text.slice(at, start), html`<mark>${question.text.slice(start, end)}</mark>`);
    at = end;
  }
  const { patient } = frame;
  const starts = run.links.map((l) => l.mention.start); // of what stands under Found
  const names = (all) => all.map((n) => n.names[0]).join(", ");
  const has = patient.has.filter((n) => !n.spans.some(([start]) => starts.includes(start)));
  const told = [
    patient.age !== null && `${t("age")} ${number(Math.round(patient.age * 100) / 100)}`, patient.sex && t(patient.sex), patient.groups.join(", "),
    patient.takes.length > 0 && `${t("takes")}: ${names(patient.takes)}`, has.length > 0 && `${t("has")}: ${names(has)}`,
    patient.allergic_to.length > 0 && `${t("allergicTo")}: ${names(patient.allergic_to)}`,
  ].filter(Boolean);
  const likely = [...new Set([...frame.asks, ...frame.alternatives].map((a) => a.intent))];
  const all = [...likely, ...INTENT_ORDER.filter((name) => !likely.includes(name))];
  return html`<div class="found read">
    <div class="found-row"><h3>${t("readAs")}</h3><p class="words">${words}${question.text.slice(at)}</p></div>
    <div class="found-row"><h3>${t("asks")}</h3><div class="chips">
      ${frame.asks.map((one, i) => html`<label class="intent"><span class="unseen">${t("asks")}</span><select value=${one.intent} onChange=${(e) => reread(run, { intents: frame.asks.map((a, j) => (i === j ? e.target.value : a.intent)) })}>
        ${all.map((name) => html`<option value=${name} selected=${name === one.intent}>${intentName(name)}</option>`)}
      </select>${one.negative && html` <em>${t("negative")}</em>`}</label>`)}
      ${frame.source === "given" && html`<small>${t("chosenByYou")}</small>`}
    </div></div>
    ${told.length > 0 && html`<div class="found-row"><h3>${t("patient")}</h3><ul class="chips">${told.map((one) => html`<li class="chip">${one}</li>`)}</ul></div>`}
  </div>`;
}

const ALIKE = 0.7; // ours: of names that are offered

/** Names spelled like a term that was not found, with up to two words behind it: { words, names }; null = none. */
async function spelledAlike(mention, text, signal) {
  const behind = mention.start >= 0 ? text.slice(mention.end).match(/^(\s+[\w'-]+)?(\s+[\w'-]+)?/) : ["", "", ""];
  for (const more of new Set([behind[0], behind[1] || "", ""])) {
    const words = mention.surface + more;
    const found = await api.similar("auto", words, { language: currentLanguage() }, signal);
    const names = [...new Set(found.filter((m) => m.score >= ALIKE).map((m) => m.entity.name))];
    if (names.length) return { words, names };
  }
  return null;
}

/** An answer and all that it stands on. */
function Outcome({ run, near, served, instead, reread, follow, cite }) {
  const [marked, mark] = useState(cite);
  const { answer } = run;
  const evidence = run.context.cited.length ? run.context.cited : run.evidence;
  const heading = useRef(null);
  useEffect(() => mark(cite), [run.id, cite]);
  useEffect(() => heading.current && heading.current.focus({ preventScroll: true }), [run.id]);
  const show = (n) => {
    mark(n);
    requestAnimationFrame(() => {
      const target = document.getElementById(`evidence-${n}`) || document.getElementById("evidence");
      target.scrollIntoView({ block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
    });
  };
  return html`<article class="result">
    <p class="printed"><strong>${run.query.question.text}</strong> <small>${run.graph} · ${run.id}</small></p>
    <section class=${`panel answer ${answer.abstained ? "abstained" : ""}`} aria-labelledby="answer">
      <h2 id="answer" tabindex="-1" ref=${heading}>${answer.abstained ? t("abstained") : t("answer")}</h2>
      <${Cited} text=${answer.text} labels=${answer.verdicts.length > 0} of=${evidence} marked=${marked} show=${show} />
      ${answer.abstained && html`<p class="hint">${t("abstainedWhy")}</p>`}
      ${answer.choices.length > 0 && html`<p><strong>${t("choice")}:</strong> ${answer.choices.join(", ")}</p>`}
      ${answer.candidates.length > 1 && html`<${Candidates} candidates=${answer.candidates} of=${evidence} marked=${marked} show=${show} />`}
      <p class="limits">${answer.limits || t("notAdvice")}</p>
      <${Read} run=${run} reread=${reread} />
      <${Found} links=${run.links} missed=${run.missed.filter((m) => !run.query.frame.patient.groups.includes(m.name))} near=${near} text=${run.query.question.text} instead=${instead} choose=${(change) => reread(run, change)} />
      ${answer.verdicts.length > 0 && html`<${Verdicts} verdicts=${answer.verdicts} of=${evidence} marked=${marked} show=${show} />`}
      <div class="actions">
        <${Copy} text=${permanent("run", [run.id])} label=${t("copyLink")} />
        <${Copy} text=${() => asText(run)} label=${t("copyAnswer")} />
        <${Copy} text=${() => asMarkdown(run)} label=${t("copyMarkdown")} />
        <button type="button" class="quiet" onClick=${() => print()}>${t("print")}</button>
      </div>
      <div class="actions"><span class="hint">${t("saveAs")}</span>
        ${[
          ["JSON", () => api.run(run.id, undefined, true).catch(() => run).then((plain) => saveJson(`kgmed-${run.id}.json`, plain))],
          ["CSV", () => saveAs(`kgmed-${run.id}.csv`, asCsv(factsOf(evidence), served.graphs), "text/csv")],
          ["BibTeX", () => saveAs(`kgmed-${run.id}.bib`, asBibtex(run, served.graphs), "application/x-bibtex")],
          ["RIS", () => saveAs(`kgmed-${run.id}.ris`, asRis(run, served.graphs), "application/x-research-info-systems")],
        ].map(([name, save]) => html`<button type="button" class="quiet" aria-label=${`${t("saveAs")} ${name}`} onClick=${save}>${name}</button>`)}
      </div>
    </section>
    ${served.about.models.length > 0 && run.method !== ALONE && html`<${Alone} key=${run.id} run=${run} />`}
    <${FollowUp} key=${run.id} most=${served.about.longest} send=${follow} />
    <${EvidenceShown} run=${run} evidence=${evidence} served=${served} marked=${marked} mark=${show} />
    <${How} run=${run} />
  </article>`;
}

const ALONE = "zero-shot";

/** What the model that answered says without the graph, once that is asked for. */
function Alone({ run }) {
  const [{ step, other, problem }, set] = useState({ step: "idle" });
  const question = run.query.question;
  const model = (run.models.find(([what]) => what === "llm") || [])[1] || "";
  const go = () => {
    set({ step: "working" });
    const options = question.options.length ? { options: Object.fromEntries(question.options) } : {};
    api.post("v1/ask", { question: question.text, method: ALONE, model, ...options }).then((other) => set({ step: "done", other }), (problem) => set({ step: "trouble", problem }));
  };
  return html`<section class="panel alone" aria-labelledby="alone">
    <div class="panel-head"><h2 id="alone">${t("alone")}</h2>${step === "idle" && html`<button type="button" class="quiet" onClick=${go}>${t("askAlone")}</button>`}</div>
    <p class="hint">${t("aloneWhy")}</p>
    ${step === "working" && html`<${Wait} text=${t("working")} />`}
    ${step === "trouble" && html`<${Trouble} problem=${problem} again=${go} />`}
    ${step === "done" && html`<div class="answer-text">${other.answer.text.split("\n").map((line) => html`<p>${line}</p>`)}</div>
      <p class="hint"><a href=${link("run", [other.id])}>${t("openRun")}</a></p>`}
  </section>`;
}

/** What else the answer may be, with the evidence of each. */
const Candidates = ({ candidates, ...shown }) => html`<details class="candidates"><summary>${t("candidates", candidates.length)}</summary>
  <ol>${candidates.map((c) => html`<li><${Marks} text=${`${c.name} ${c.citations.map((n) => `[${n}]`).join("")}`} ...${shown} /></li>`)}</ol></details>`;

/** A text of lines, those that begin with a dash as a list; marks [n] are buttons that show the evidence. */
function Cited({ text, ...shown }) {
  const blocks = [];
  for (const line of text.split("\n")) {
    const item = line.startsWith("- ");
    const last = blocks[blocks.length - 1];
    if (item && last && last.items) last.items.push(line.slice(2));
    else blocks.push(item ? { items: [line.slice(2)] } : { line });
  }
  return html`<div class="answer-text">
    ${blocks.map(({ line, items }) =>
      items ? html`<ul>${items.map((one) => html`<li><${Marks} text=${one} ...${shown} /></li>`)}</ul>` : html`<p><${Marks} text=${line} ...${shown} /></p>`,
    )}
  </div>`;
}

const LABELLED = /(\[\d+\][.,;:。，；：、]?|\[[^\]\d][^\]]*\])/; // with what the check says behind a sentence
const shortened = (text, most = 300) => (text.length > most ? `${text.slice(0, most)}…` : text);

/** One line with its marks: over each, the fact that is cited. */
function Marks({ text, of, marked, show, labels = false }) {
  const piece = (part) => {
    const [, inside, point = ""] = /^\[([^\]]+)\](.?)$/.exec(part) || [];
    const n = Number(inside);
    if (inside && !n) return html`<small class="label">${part}</small>`;
    if (!of[n - 1]) return part;
    return html`<span class="held"><button type="button" class=${`cite ${n === marked ? "marked" : ""}`} aria-pressed=${n === marked ? "true" : "false"} aria-label=${t("citation", n)} title=${shortened(of[n - 1].text)} onClick=${() => show(n === marked ? 0 : n)}>${n}</button>${point}</span>`;
  };
  return html`${text.split(labels ? LABELLED : /(\[\d+\][.,;:。，；：、]?)/).map(piece)}`;
}

/** The sentences of a model, each supported, its own, disputed, or neutral: it says nothing of medicine to be checked. */
const Verdicts = ({ verdicts, ...shown }) => html`<details class="verdicts" open><summary>${t("verdicts")}</summary>
  <ul>${verdicts.map((v) => html`<li class=${v.label}><span>${v.sentence}</span> <strong>${t(["supported", "contradicted", "neutral"].includes(v.label) ? v.label : "unsupported")}</strong> ${v.label === "supported" && html`<${Marks} text=${v.citations.map((n) => `[${n}]`).join("")} ...${shown} />`}${v.reason && html` <small>${v.reason}</small>`}</li>`)}</ul>
</details>`;

/** The evidence as a list, a picture or a table: the same facts each time. */
function EvidenceShown({ run, evidence, served, marked, mark }) {
  const [shape, choose] = useState("picture");
  const facts = useMemo(() => factsOf(evidence), [run.id]);
  const asked = useMemo(() => run.links.map((l) => l.entity), [run.id]);
  if (!facts.length && (run.answer.abstained || !evidence.length)) return null;
  const shapes = [["picture", t("asPicture")], ["list", t("asList")], ["table", t("asTable")]].filter(([key]) => facts.length || key === "list");
  const chosen = facts.length ? shape : "list";
  return html`<section class="panel evidence" id="evidence" aria-labelledby="evidence-title">
    <div class="panel-head">
      <h2 id="evidence-title">${t("evidence")}</h2>
      <${Tabs} label=${t("howShown")} tabs=${shapes} chosen=${chosen} choose=${choose} />
    </div>
    <ol class="numbers" aria-label=${t("evidence")}>
      ${evidence.map((item, i) => html`<li><button type="button" class=${`cite ${i + 1 === marked ? "marked" : ""} ${item.triples.some((f) => SAFETY.includes(f.relation.role)) ? "safety" : ""}`} aria-pressed=${i + 1 === marked ? "true" : "false"} aria-label=${t("citation", i + 1)} onClick=${() => mark(i + 1 === marked ? 0 : i + 1)}>${i + 1}</button></li>`)}
    </ol>
    <div role="tabpanel" aria-label=${t("evidence")}>
      ${chosen === "picture" && html`<${Picture} facts=${facts} asked=${asked} graphs=${served.graphs} graph="auto" marked=${marked} />`}
      ${chosen === "table" && html`<${FactsTable} facts=${facts} graphs=${served.graphs} marked=${marked} label=${t("evidence")} />`}
      ${chosen === "list" && html`<${EvidenceList} pieces=${evidence.map((item, i) => [i + 1, item])} marked=${marked} citations=${run.answer.citations} graphs=${served.graphs} />`}
    </div>
    ${chosen !== "list" && marked > 0 && evidence[marked - 1] && html`<${EvidenceList} pieces=${[[marked, evidence[marked - 1]]]} marked=${marked} citations=${run.answer.citations} graphs=${served.graphs} />`}
  </section>`;
}

/** The lines of a piece of evidence, { names, role, back, things }: what several things have in common is said once. */
function linesOf(item) {
  const lines = new Map();
  for (const triple of item.triples) {
    const back = item.about.length > 0 && objectOf(triple).id === item.about[0].id && subjectOf(triple).id !== item.about[0].id;
    const [from, to] = back ? [objectOf(triple), subjectOf(triple)] : [subjectOf(triple), objectOf(triple)];
    const { role } = triple.relation;
    const key = JSON.stringify([from.name, role, back]);
    if (!lines.has(key)) lines.set(key, { names: [from.name], role, back, things: new Map() });
    const { things } = lines.get(key);
    things.set(to.name, [...new Set([things.get(to.name), frequencyOf(triple)])].filter(Boolean).join("; "));
  }
  const once = new Map();
  for (const line of lines.values()) {
    const key = JSON.stringify([line.role, line.back, ...line.things]);
    once.set(key, { ...line, names: [...(once.get(key) || { names: [] }).names, ...line.names] });
  }
  return [...once.values()];
}

/** Pieces of evidence, [number, piece], as a list shows them: what an earlier one has said is left out of a later, and
 *  those that say the same of several things are one: [{ numbers, lines, item, sources, references }]. */
function listed(pieces, citations) {
  const said = new Set();
  const found = new Map();
  for (const [n, item] of pieces) {
    const key = ({ names, role, back, things }) => JSON.stringify([names, role, back, ...things]);
    const all = linesOf(item);
    const fresh = all.filter((line) => !said.has(key(line)));
    const lines = fresh.length ? fresh : all;
    all.forEach((line) => said.add(key(line)));
    const sources = [...new Set(item.triples.map((f) => f.source))];
    const references = [...new Set(item.triples.flatMap(referencesOf))];
    const alike = lines.length === 1 && !leftOut(item) ? JSON.stringify([key({ ...lines[0], names: [] }), sources, references, citations.includes(n)]) : n;
    const one = found.get(alike) || { numbers: [], lines, item, sources, references };
    if (one.numbers.length) one.lines = [{ ...lines[0], names: [...new Set([...one.lines[0].names, ...lines[0].names])] }];
    one.numbers.push(n);
    found.set(alike, one);
  }
  return [...found.values()];
}

/** How many things the method left out of a piece. */
const leftOut = (item) => Number((/\(\+(\d+)\)\s*$/.exec(item.text) || [])[1]) || 0;

/** Numbered pieces of evidence: their facts in lines by role, and where they are from; a licence once a source. */
function EvidenceList({ pieces, marked, citations, graphs }) {
  const told = new Set();
  const licence = (source) => !told.has(source) && told.add(source) && ` (${licenceOf(source, graphs)})`;
  return html`<ol class="evidence-list">${listed(pieces, citations).map(({ numbers, lines, item, sources, references }) => {
    const more = leftOut(item);
    const warns = item.triples.some((f) => SAFETY.includes(f.relation.role));
    return html`<li key=${numbers[0]} id=${`evidence-${numbers[0]}`} class=${`evidence-item ${numbers.includes(marked) ? "marked" : ""}`}>
      <div class="cites" aria-hidden="true">${numbers.map((n, i) => html`<span id=${i ? `evidence-${n}` : undefined} class=${`cite ${warns ? "safety" : ""}`}>${n}</span>`)}</div>
      <div>
        ${!lines.length && html`<p>${item.text}</p>`}
        ${lines.map(
          (line) => html`<p><strong>${line.names.join(", ")}</strong> <span class=${`role ${SAFETY.includes(line.role) ? "safety" : ""}`}>${roleName(line.role, line.back)}</span>
            ${[...line.things].map(([name, often], i) => html`${i ? " · " : ""}${name}${often && html` <small>${often}</small>`}`)}</p>`,
        )}
        ${more > 0 && html`<p class="hint">${t("leftOut", number(more))}</p>`}
        <p class="from">${citations.includes(numbers[0]) ? t("citedHere") : t("notCited")}
          ${sources.map((source) => html` · ${source}${licence(source)}`)}
          ${references.length > 0 && html` · <${References} of=${references} />`}</p>
      </div>
    </li>`;
  })}</ol>`;
}

/** How the answer was made: stages, method, settings, models, prompts, cost, notes. */
function How({ run }) {
  const total = run.stages.reduce((sum, s) => sum + s.seconds, 0);
  const longest = Math.max(...run.stages.map((s) => s.seconds), 1e-9);
  const row = (key, value) => html`<div><dt>${t(key)}</dt><dd>${value}</dd></div>`;
  const { spent } = run;
  return html`<details class="panel how">
    <summary><h2>${t("how")}</h2> <span class="hint">${run.method} · ${seconds(total)} s</span></summary>
    <div class="scroll" tabindex="0" role="region" aria-label=${t("how")}>
    <table>
      <thead><tr><th scope="col">${t("stage")}</th><th scope="col">${t("seconds")}</th><th scope="col">${t("calls")}</th><th scope="col">${t("tokens")}</th></tr></thead>
      <tbody>
        ${run.stages.map(
          (s) => html`<tr><th scope="row">${stageName(s.name)}</th><td><meter min="0" max="1" value=${s.seconds / longest} aria-label=${stageName(s.name)}></meter> ${seconds(s.seconds)}</td><td>${s.calls || ""}</td><td>${s.tokens || ""}</td></tr>`,
        )}
      </tbody>
    </table></div>
    <dl class="plain">
      ${row("release", run.graph)} ${row("method", run.preset ? `${run.method}, ${run.preset}` : run.method)} ${row("readBy", run.answer.reader)}
      ${row("settings", run.settings.map(([name, value]) => `${name} = ${typeof value === "object" ? JSON.stringify(value) : value}`).join(", ") || t("nothing"))}
      ${row("models", run.models.map(([what, name]) => `${what}: ${name}`).join(", ") || t("nothing"))}
      ${row("prompts", run.prompts.length ? html`<code>${run.prompts.join(", ")}</code>` : t("nothing"))}
      ${spent.calls > 0 && row("spent", `${number(spent.calls)} × , ${number(spent.tokens_in)} + ${number(spent.tokens_out)} ${t("tokens")}${spent.cost === null ? "" : `, ${spent.cost} $`}`)}
      ${run.particulars.length > 0 && row("particulars", run.particulars.map((p) => p.text).join(", "))}
      ${run.answer.reasoning && row("reasoning", run.answer.reasoning)}
      ${run.notes.length > 0 && row("notes", run.notes.join("; "))}
      ${run.failures.length > 0 && row("failures", run.failures.join("; "))}
      ${row("runId", html`<a href=${link("run", [run.id])}><code>${run.id}</code></a>`)}
    </dl>
  </details>`;
}

const seconds = (s) => (s >= 10 ? s.toFixed(0) : s >= 0.1 ? s.toFixed(2) : s.toFixed(4));
