// Diagnose: a patient's findings as chips, the diseases that fit them with what speaks for and against, two side by side.

import * as api from "./api.js";
import { html, useEffect, useRef, useState } from "./vendor/htm-preact.js";
import { Completing, Copy, FactCard, Few, frequencyOf, link, objectOf, permanent, Reference, Room, saveJson, Trouble, useId, useLoaded, Wait } from "./parts.js";
import { currentLanguage, t } from "./words.js";

const FOR = ["exact", "narrower", "twin"];
const NEAR = ["broader", "agrees"];
const AGAINST = ["denied", "excluded", "sex", "onset"];
const KIND_WORDS = { denied: "deniedBy", sex: "sexAgainst", onset: "onsetAgainst" };
const kindWord = (kind) => t(KIND_WORDS[kind] || kind);

/** The language in which HPO's terms are called: Chinese names are those of the graphs together, English ones HPO's own. */
const named = () => (currentLanguage() === "zh" ? "zh" : "");

const NOBODY = { findings: [], sex: "", age: "", onset: "", database: "all" };

/** The view; the patient of the last visit to it stays as long as the page is open. */
let last = { patient: NOBODY, result: null };

export function Diagnose({ where, served }) {
  const [patient, setPatient] = useState(last.patient);
  const [state, set] = useState({ step: last.result ? "done" : "idle", result: last.result });
  const [trouble, setTrouble] = useState(null);
  const [note, setNote] = useState("");
  const stop = useRef(null);
  const there = served.graphs.some((g) => g.name === "hpo");
  useEffect(() => () => stop.current && stop.current.abort(), []);
  useEffect(() => {
    const came = fromLink(where.given);
    if (!came) return;
    setPatient(came);
    setNote(t("linkHasPatient"));
    name_(came, change);
  }, [location.hash]);
  useEffect(() => void (last = { patient, result: state.result }), [patient, state.result]);

  const change = (to) => setPatient((now) => (typeof to === "function" ? to(now) : { ...now, ...to }));
  const add = (finding) =>
    change((now) => ({ ...now, findings: [...now.findings.filter((f) => f.id !== finding.id), { present: true, ...finding }] }));
  const rank = async () => {
    stop.current && stop.current.abort();
    const mine = (stop.current = new AbortController());
    setTrouble(null);
    set({ step: "working", result: state.result });
    try {
      const result = await api.diagnose({ ...bodyOf(patient), language: named() }, mine.signal);
      if (stop.current === mine) set({ step: "done", result: { ...once(result.patients[0]), asked: JSON.stringify(bodyOf(patient)) } });
    } catch (problem) {
      if (problem.name === "AbortError") return set({ step: state.result ? "done" : "idle", result: state.result });
      setTrouble(problem);
      set({ step: "idle", result: null });
    }
  };
  const read = async (body) => {
    setTrouble(null);
    setNote("");
    try {
      return await api.diagnose({ keep: 1, language: named(), ...body });
    } catch (problem) {
      setTrouble(problem);
      return null;
    }
  };
  const { result } = state;
  if (!there) return html`<div class="diagnose"><h1>${t("diagnoseTitle")}</h1><p class="panel">${t("noHpo")}</p></div>`;
  return html`<div class="diagnose">
    <div class="patient-side">
      <h1>${t("diagnoseTitle")}</h1>
      <p class="lead">${t("diagnoseLead")}</p>
      <${PatientForm} most=${served.about.longest} ...${{ patient, change, add, rank, read, note, setNote, setTrouble }} working=${state.step === "working"} stop=${() => stop.current.abort()} />
    </div>
    <div class="ranking-side">
      ${trouble && html`<${Trouble} problem=${trouble} />`}
      ${state.step === "working" && html`<${Wait} text=${t("working")} />`}
      ${result && html`<${Ranking} result=${result} stale=${result.asked !== JSON.stringify(bodyOf(patient))} names=${namesOf(patient)} patient=${patient} add=${add} served=${served} />`}
    </div>
  </div>`;
}

/** The ranking with each disease once: entries of one name in several databases stand at the best of their places. */
function once(result) {
  const first = new Map();
  for (const one of result.ranked) {
    const name = one.disease.name.toLowerCase();
    if (first.has(name)) first.get(name).also.push(one.disease.id);
    else first.set(name, { ...one, also: [] });
  }
  return { ...result, ranked: [...first.values()] };
}

const namesOf = (patient) => Object.fromEntries(patient.findings.map((f) => [f.id, f.name]));

/** What the server is asked. */
function bodyOf({ findings, sex, age, onset, database }) {
  const given = { findings: findings.map((f) => (f.present ? f.id : `-${f.id}`)), database, keep: 20 };
  for (const [key, value] of Object.entries({ sex, age: age.trim(), onset: onset.trim() })) if (value) given[key] = value;
  return given;
}

/** The patient that a link holds; null = none. */
function fromLink({ present = "", absent = "", sex = "", age = "", onset = "" }) {
  const ids = (text) => text.split(",").filter((id) => /^HP:\d{7}$/.test(id));
  const findings = [...ids(present).map((id) => ({ id, name: id, present: true })), ...ids(absent).map((id) => ({ id, name: id, present: false }))];
  return findings.length ? { ...NOBODY, findings, sex: ["female", "male"].includes(sex) ? sex : "", age, onset } : null;
}

const toLink = ({ findings, sex, age, onset }) => {
  const ids = (present) => findings.filter((f) => f.present === present).map((f) => f.id).join(",");
  return permanent("diagnose", [], { present: ids(true), absent: ids(false), sex, age, onset });
};

/** Names for findings of which only the id is known. */
function name_(patient, change) {
  for (const { id } of patient.findings.filter((f) => f.name === f.id)) {
    api.entity(named() ? "auto" : "hpo", id, { language: named() }).then(
      ({ entity }) => change((now) => ({ ...now, findings: now.findings.map((f) => (f.id === id ? { ...f, name: entity.name, description: entity.description } : f)) })),
      () => {},
    );
  }
}

const CJK = /[\u3400-\u9fff]/;

/** Findings of HPO whose names go on from a text; Chinese names are those of the graphs together. */
async function completions(text, signal) {
  const chinese = CJK.test(text);
  const found = chinese || named()
    ? await api.complete("auto", text, { limit: 40, language: "zh" }, signal)
    : await api.complete("hpo", text, { kind: "phenotype", limit: 8 }, signal);
  return found.map(({ entity, name }) => ({ ...entity, matched: name })).filter((e) => /^HP:/.test(e.id)).slice(0, 8);
}

function PatientForm({ most, patient, change, add, rank, read, note, setNote, setTrouble, working, stop }) {
  const { findings, sex, database } = patient;
  const file = useRef(null);
  const id = useId("patient");
  const present = findings.some((f) => f.present);
  const submit = (event) => (event.preventDefault(), present && !working && rank());
  const field = (key, hint, size) => html`<label>${t(key)}
    <input type="text" size=${size} autocomplete="off" placeholder=${hint} value=${patient[key]} onInput=${(e) => change({ [key]: e.target.value })} />
  </label>`;
  const open = async (event) => {
    const [chosen] = event.target.files;
    event.target.value = "";
    if (!chosen) return;
    const packet = await chosen.text().then(JSON.parse).catch(() => null);
    const features = packet && (packet.phenotypicFeatures || (packet.phenopacket || {}).phenotypicFeatures);
    if (!Array.isArray(features)) return setTrouble(new api.Problem(0, "", t("phenopacketBad", chosen.name)));
    const result = await read({ phenopacket: packet.phenopacket || packet });
    if (!result) return;
    const labels = Object.fromEntries(features.map((f) => [(f.type || {}).id, (f.type || {}).label]));
    const { patient: p } = result.patients[0];
    const chip = (present) => (id) => ({ id, name: labels[id] || id, present });
    const came = { ...NOBODY, database, findings: [...p.present.map(chip(true)), ...p.absent.map(chip(false))], sex: p.sex, age: p.age === null ? "" : String(Math.round(p.age * 100) / 100), onset: "" };
    change(came);
    name_(came, change);
  };
  const save = async () => {
    setTrouble(null);
    const { database: _, keep: __, ...body } = bodyOf(patient);
    await api.post("v1/phenopacket", body).then((packet) => saveJson("phenopacket.json", packet), setTrouble);
  };
  return html`<form class="panel patient" onSubmit=${submit} aria-label=${t("patient")}>
    <${Completing} label=${t("addFinding")} hint=${t("addFindingHint")} load=${completions} choose=${({ id, name, description }) => add({ id, name, description })} />
    <h2 class="unseen" id=${`${id}-findings`}>${t("findings")}</h2>
    ${findings.length === 0 && html`<p class="hint">${t("noFindings")}</p>`}
    <ul class="chips findings" aria-labelledby=${`${id}-findings`}>
      ${findings.map((f) => html`<${FindingChip} key=${f.id} finding=${f} change=${change} />`)}
    </ul>
    <${Pasted} read=${read} add=${add} note=${setNote} change=${change} most=${most} />
    ${note && html`<p class="hint" role="status">${note}</p>`}
    <fieldset class="fields">
      <legend class="unseen">${t("patient")}</legend>
      <label>${t("sex")}
        <select value=${sex} onChange=${(e) => change({ sex: e.target.value })}>
          <option value="">${t("sexAny")}</option><option value="female">${t("female")}</option><option value="male">${t("male")}</option>
        </select>
      </label>
      ${field("age", t("ageHint"), 10)} ${field("onset", t("onsetHint"), 12)}
      <label>${t("database")}
        <select value=${database} onChange=${(e) => change({ database: e.target.value })}>
          ${["OMIM", "ORPHA", "DECIPHER"].map((name) => html`<option value=${name}>${name}</option>`)}
          <option value="all">${t("everyDatabase")}</option>
        </select>
      </label>
    </fieldset>
    <div class="actions">
      <button type="submit" class="main" disabled=${!present} aria-disabled=${working ? "true" : undefined}>${t("rank")}</button>
      ${working && html`<button type="button" class="stop" onClick=${stop}>${t("stop")}</button>`}
      ${findings.length > 0 && html`<button type="button" class="quiet" onClick=${() => (change({ ...NOBODY }), setNote(""), setTrouble(null))}>${t("clear")}</button>`}
      ${findings.length > 0 && !present && html`<span class="hint">${t("needPresent")}</span>`}
    </div>
    <div class="actions">
      <button type="button" class="quiet" onClick=${() => file.current.click()}>${t("phenopacketIn")}</button>
      <input ref=${file} type="file" accept=".json,application/json" hidden onChange=${open} aria-label=${t("phenopacketIn")} />
      ${present && html`<button type="button" class="quiet" onClick=${save}>${t("phenopacketOut")}</button> <${Copy} text=${() => toLink(patient)} label=${t("copyLink")} />`}
    </div>
  </form>`;
}

/** A finding: present or absent, with its definition, and a way out. */
function FindingChip({ finding, change }) {
  const [open, set] = useState(false);
  const [text, setText] = useState(finding.description || "");
  const { id, name, present } = finding;
  const turn = (to) => change((now) => ({ ...now, findings: now.findings.map((f) => (f.id === id ? { ...f, ...to } : f)) }));
  const define = () => {
    set(!open);
    if (!open && !text) api.entity("hpo", id, {}).then(({ entity }) => setText(entity.description || t("noDefinition")), () => setText(t("noDefinition")));
  };
  return html`<li class=${`chip finding ${present ? "present" : "absent"}`}>
    <button type="button" class="sign" aria-label=${t(present ? "makeAbsent" : "makePresent", name)} onClick=${() => turn({ present: !present })}>${present ? t("present") : t("absent")}</button>
    <button type="button" class="chip-name" aria-expanded=${open ? "true" : "false"} aria-label=${t("define", name)} onClick=${define}>${name}</button>
    <small class="wide">${id}</small>
    <button type="button" class="remove" aria-label=${t("remove", name)} onClick=${() => change((now) => ({ ...now, findings: now.findings.filter((f) => f.id !== id) }))}>×</button>
    ${open && html`<p class="definition">${text || t("loading")} <small class="narrow">${id}</small></p>`}
  </li>`;
}

/** A description of the patient, from which findings are read; they become chips that can be put right. */
function Pasted({ read, add, note, change, most }) {
  const [text, setText] = useState("");
  const [busy, set] = useState(false);
  const id = useId("paste");
  const go = async () => {
    set(true);
    const result = await read({ text });
    set(false);
    if (!result) return;
    const { present, absent, sex, age } = result.patients[0].patient;
    change((now) => ({ ...now, sex: now.sex || sex, age: now.age || (age === null ? "" : String(Math.round(age * 100) / 100)) }));
    const names = Object.fromEntries(result.understood.map((l) => [l.entity.id, l.entity]));
    for (const [ids, is] of [[present, true], [absent, false]]) ids.forEach((i) => add({ id: i, name: (names[i] || { name: i }).name, present: is }));
    note(present.length + absent.length ? t("readSome", present.length + absent.length) : t("readNone"));
  };
  return html`<details class="paste">
    <summary>${t("paste")}</summary>
    <label class="unseen" for=${id}>${t("paste")}</label>
    <textarea id=${id} rows="4" placeholder=${t("pasteHint")} value=${text} onInput=${(e) => setText(e.target.value)}></textarea>
    <${Room} text=${text} most=${most} />
    <button type="button" disabled=${busy || !text.trim() || text.length > most} onClick=${go}>${t("readText")}</button>
    ${busy && html`<${Wait} text=${t("working")} />`}
  </details>`;
}

// --- The ranking.

function Ranking({ result, stale, names, patient, add, served }) {
  const [pair, setPair] = useState([]);
  const [wide, setWide] = useState(false); // all reasons open, as they are printed
  useEffect(() => setPair([]), [result]);
  const pick = (id) => setPair((now) => (now.includes(id) ? now.filter((i) => i !== id) : [...now, id].slice(-2)));
  const printed = () => {
    setWide(true);
    setTimeout(() => (print(), setWide(false)), 50);
  };
  const best = result.ranked.length ? result.ranked[0].score : 1;
  const worst = Math.min(0, ...result.ranked.map((r) => r.score));
  const two = pair.map((id) => result.ranked.find((r) => r.disease.id === id)).filter(Boolean);
  return html`<section class="ranking" aria-labelledby="ranking">
    <div class="panel-head"><h2 id="ranking">${t("ranking")}</h2>
      <div class="actions"><button type="button" class="quiet" onClick=${printed}>${t("print")}</button></div>
    </div>
    <${Printed} patient=${patient} graph=${result.graph} />
    ${stale && html`<p class="notice" role="status">${t("stale")}</p>`}
    ${result.unknown.length > 0 && html`<p class="notice">${t("unknownIds")}: ${result.unknown.join(", ")}</p>`}
    ${result.ranked.length === 0 && html`<p class="panel">${t("rankingNone")}</p>`}
    ${result.ranked.length > 1 && two.length < 2 && html`<p class="hint screen">${t("pickTwo")}</p>`}
    ${two.length === 2 && html`<${SideBySide} two=${two} names=${names} close=${() => setPair([])} />`}
    <ol class="diseases">
      ${result.ranked.map(
        (ranked, i) => html`<${Disease} key=${ranked.disease.id} place=${i + 1} ranked=${ranked} share=${(ranked.score - worst) / (best - worst || 1)} picked=${pair.includes(ranked.disease.id)} pick=${pick} add=${add} served=${served} wide=${wide} known=${names} first=${i === 0} />`,
      )}
    </ol>
    ${result.both.length > 0 && html`<p class="hint">${t("both", result.both.map((e) => e.name).join(" + "))}</p>`}
    <p class="hint">${t("scoreHelp")}</p>
    <p class="limits"><strong>${t("notAdvice")}</strong> ${t("diagnoseLimits", result.graph)}</p>
  </section>`;
}

/** What a printed page says first: whom it is about, and from which release. */
const Printed = ({ patient, graph }) => html`<div class="printed">
  <p>${t("present")}: ${patient.findings.filter((f) => f.present).map((f) => `${f.name} (${f.id})`).join("; ")}</p>
  ${patient.findings.some((f) => !f.present) && html`<p>${t("absent")}: ${patient.findings.filter((f) => !f.present).map((f) => `${f.name} (${f.id})`).join("; ")}</p>`}
  <p>${[patient.sex && t(patient.sex), patient.age && `${t("age")} ${patient.age}`, patient.onset && `${t("onset")} ${patient.onset}`, graph].filter(Boolean).join(" · ")}</p>
</div>`;

const of = (reasons, kinds) => reasons.filter((r) => kinds.includes(r.kind));

/** What a reason is called: the finding of the patient, or what the graph says of the disease. */
const reasonName = (reason, known = {}) => {
  const said = [...new Set(reason.triples.map((f) => objectOf(f).name))].join(", ");
  return reason.finding ? known[reason.finding.id] || reason.finding.name : said || kindWord(reason.kind);
};
const oftenOf = (reason) => [...new Set(reason.triples.map(frequencyOf).filter(Boolean))].slice(0, 2).join("; ");

function Disease({ place, ranked, share, picked, pick, add, served, wide, known, first }) {
  const [open, set] = useState(first);
  const { disease, reasons, score } = ranked;
  const counts = [["fitCount", of(reasons, FOR), "for"], ["nearCount", of(reasons, NEAR), "near"], ["unlistedCount", of(reasons, ["unlisted"]), "quiet"], ["againstCount", of(reasons, AGAINST), "against"]];
  const missing = of(reasons, ["missing"]).map((r) => ({ ...r, entity: r.triples.length ? objectOf(r.triples[0]) : null })).filter((r) => r.entity && !(r.entity.id in known));
  const shown = open || wide;
  return html`<li class="panel disease">
    <div class="disease-head">
      <span class="place" aria-hidden="true">${place}</span>
      <div class="disease-name">
        <h3><a href=${link("graph", ["hpo", disease.id])}>${disease.name}</a> <small><${Reference} text=${disease.id} />${ranked.also.map((id) => html`, <${Reference} text=${id} />`)}</small></h3>
        <p class="counts">${counts.filter(([, r]) => r.length).map(([word, r, look]) => html`<span class=${`count ${look}`}>${t(word, r.length)}</span>`)}</p>
      </div>
      <div class="disease-score"><meter min="0" max="1" value=${Math.max(0.02, share)} aria-label=${`${t("score")} ${score.toFixed(2)}`}></meter><span>${score.toFixed(2)}</span></div>
      <div class="disease-acts">
        <label class="check"><input type="checkbox" checked=${picked} onChange=${() => pick(disease.id)} aria-label=${t("pick", disease.name)} /> ${t("pickShort")}</label>
        <button type="button" class="quiet" aria-expanded=${shown ? "true" : "false"} aria-label=${`${t("details")}: ${disease.name}`} onClick=${() => set(!open)}>${t("details")}</button>
      </div>
    </div>
    ${shown &&
    html`<div class="reasons">
      <${Reasons} title=${t("speaksFor")} look="for" reasons=${[...of(reasons, FOR), ...of(reasons, NEAR)]} known=${known} served=${served} />
      <${Reasons} title=${t("speaksAgainst")} look="against" reasons=${of(reasons, AGAINST)} known=${known} served=${served} />
      ${of(reasons, ["unlisted"]).length > 0 && html`<div class="reason-group"><h4>${t("missing")}</h4><p>${of(reasons, ["unlisted"]).map((r) => reasonName(r, known)).join(", ")}</p></div>`}
      ${missing.length > 0 &&
      html`<div class="reason-group"><h4>${t("expected")}</h4>
        <ul class="expected">${missing.map(
          (r) => html`<li><span>${r.entity.name} <small>${oftenOf(r)}</small></span>
            <span class="adds"><button type="button" class="quiet" aria-label=${t("addPresent", r.entity.name)} onClick=${() => add({ id: r.entity.id, name: r.entity.name, present: true })}>+ ${t("present")}</button>
            <button type="button" class="quiet" aria-label=${t("addAbsent", r.entity.name)} onClick=${() => add({ id: r.entity.id, name: r.entity.name, present: false })}>+ ${t("absent")}</button></span></li>`,
        )}</ul></div>`}
    </div>`}
  </li>`;
}

/** The reasons of one side, each with how often it is so and, opened, the facts behind it. */
function Reasons({ title, look, reasons, known, served }) {
  if (!reasons.length) return null;
  return html`<div class=${`reason-group ${look}`}><h4>${title}</h4>
    <ul>${reasons.map((reason) => html`<${Reason} reason=${reason} name=${reasonName(reason, known)} served=${served} />`)}</ul></div>`;
}

function Reason({ reason, name, served }) {
  const [open, set] = useState(false);
  const objects = [...new Set(reason.triples.map((f) => objectOf(f).name))].filter((other) => other !== reasonName(reason));
  const plain = reason.kind === "exact" && !objects.length;
  return html`<li>
    <span><strong>${name}</strong>${!plain && html` <span class="kind-word">${kindWord(reason.kind)}${objects.length > 0 && `: ${objects.slice(0, 3).join(", ")}`}${reason.kind === "twin" && reason.through ? ` (${reason.through.id})` : ""}</span>`} <small>${oftenOf(reason)}</small></span>
    ${reason.triples.length > 0 && html`<button type="button" class="quiet screen" aria-expanded=${open ? "true" : "false"} aria-label=${`${t("fact")}: ${name}`} onClick=${() => set(!open)}>${t("sourceShort")}</button>`}
    ${open && html`<${Few} tag="div" most=${3} items=${reason.triples} render=${(triple) => html`<${FactCard} triple=${triple} graphs=${served.graphs} />`} />`}
  </li>`;
}

/** Two diseases in two columns: every finding of the patient, then what tells the two apart, each with how often it is so. */
function SideBySide({ two, names, close }) {
  const { value, problem } = useLoaded(
    (signal) => Promise.all(two.map(({ disease }) => api.neighbours("hpo", disease.id, { role: "finding", limit: 200 }, signal))),
    two.map(({ disease }) => disease.id),
  );
  const reasons = two.map((ranked) => Object.fromEntries(ranked.reasons.filter((r) => r.finding).map((r) => [r.finding.id, r])));
  const listed = (value || []).map(({ triples }) => new Map(triples.map((f) => [objectOf(f).id, f])));
  const side = (kind) => (FOR.includes(kind) || NEAR.includes(kind) ? "for" : AGAINST.includes(kind) ? "against" : "quiet");
  const own = (id) => reasons.map((of_) => of_[id] && html`<span class=${side(of_[id].kind)}>${kindWord(of_[id].kind)}</span> <small>${oftenOf(of_[id])}</small>`);
  const more = listed.length ? apart(listed, names) : [];
  const often = (id) => listed.map((of_) => of_.has(id) && (frequencyOf(of_.get(id)) || t("listed")));
  const row = (name, cells) => html`<tr><th scope="row">${name}</th>${cells.map((c) => html`<td>${c || html`<span class="hint">${t("unlisted")}</span>`}</td>`)}</tr>`;
  const heading = (text) => html`<tr><th scope="colgroup" colspan="3" class="between">${text}</th></tr>`;
  return html`<section class="panel" aria-labelledby="two">
    <div class="panel-head"><h3 id="two">${t("sideBySide")}</h3><button type="button" class="quiet screen" onClick=${close}>${t("close")}</button></div>
    <div class="scroll" tabindex="0" role="region" aria-label=${`${t("sideBySide")}: ${t("asTable")}`}><table class="two">
      <thead><tr><th scope="col">${t("finding")}</th>${two.map(({ disease, score }) => html`<th scope="col">${disease.name} <small>${disease.id} · ${score.toFixed(2)}</small></th>`)}</tr></thead>
      <tbody>${heading(t("ofPatient"))} ${Object.entries(names).map(([id, name]) => row(name, own(id)))}
        ${more.length > 0 && heading(t("tellsApart"))} ${more.map(([id, name]) => row(name, often(id)))}</tbody>
    </table></div>
    ${problem && html`<${Trouble} problem=${problem} />`} ${!value && !problem && html`<${Wait} />`}
  </section>`;
}

/** The most frequent findings of either disease that the patient was not asked for, as [id, name]. */
function apart(listed, names) {
  const best = listed.flatMap((of_) => [...of_.values()].sort((a, b) => b.weight - a.weight).slice(0, 30).filter((f) => !(objectOf(f).id in names)).slice(0, 8));
  const once = new Map(best.sort((a, b) => b.weight - a.weight).map((f) => [objectOf(f).id, objectOf(f).name]));
  return [...once];
}
